import { expect, test } from 'vitest'
import { headline, row } from '../../src/cli/diagnose/page.ts'
import { wrap } from '../../src/cli/shared/help.ts'

const plain = { width: 30, colour: false }

test('breaks at spaces, and leaves a long word whole', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
  expect(wrap('see /a/very/long/path of it', 6)).toEqual(['see', '/a/very/long/path', 'of it'])
  expect(wrap('as it is', Number.POSITIVE_INFINITY)).toEqual(['as it is'])
  expect(wrap('', 10)).toEqual([''])
})

test("a row's text stays in its column", () => {
  expect(row('why', 'a reason that is somewhat long', plain)).toEqual([
    '  why      a reason that is',
    '           somewhat long',
  ])
})

test('colours are for who wants them, and none comes in with a name', () => {
  expect(headline('all is well', 'good', { width: 80, colour: true })).toEqual([
    '\x1b[1;32mall is well\x1b[0m',
  ])
  expect(headline('a\x1b[31mb\n', 'bad', plain)).toEqual(['a\\x1b[31mb\\n'])
  expect(row('mount', '\x1b[2J', plain)).toEqual(['  mount    \\x1b[2J'])
})
