import { expect, test } from 'vitest'
import { linesOf, type Row } from '../../src/cli/diagnose/page.ts'
import { wrap } from '../../src/cli/shared/help.ts'

const plain = { width: 30, colour: false }
const good = { verdict: 'all is well', level: 'good', groups: [] } as const
const withRow = (row: Row) => ({ ...good, groups: [[row]] })

test('breaks at spaces, and leaves a long word whole', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
  expect(wrap('see /a/very/long/path of it', 6)).toEqual(['see', '/a/very/long/path', 'of it'])
  expect(wrap('as it is', Number.POSITIVE_INFINITY)).toEqual(['as it is'])
  expect(wrap('', 10)).toEqual([''])
})

test("a row's text stays in its column", () => {
  expect(linesOf(withRow(['why', 'a reason that is somewhat long']), plain)).toEqual([
    'all is well',
    '',
    '  why      a reason that is',
    '           somewhat long',
  ])
})

test('colours are for who wants them, and none comes in with a name', () => {
  expect(linesOf(good, { width: 80, colour: true })).toEqual(['\x1b[1;32mall is well\x1b[0m'])
  expect(linesOf({ ...good, verdict: 'a\x1b[31mb\n' }, plain)).toEqual(['a\\x1b[31mb\\n'])
  expect(linesOf(withRow(['mount', '\x1b[2J']), plain).at(-1)).toBe('  mount    \\x1b[2J')
})

test('groups have an empty line before them, and those without a row are left out', () => {
  const groups: Row[][] = [[], [['why', 'a']], [], [['advice', 'b']]]
  expect(linesOf({ ...good, groups }, plain)).toEqual(['all is well', '', '  why      a', '', '  advice   b'])
})
