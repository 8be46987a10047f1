import { describe, expect, test } from 'vitest'
import type { Change, Kind } from '../../src/index.ts'
import { comparable, inWords, legible, story } from './told.ts'

const change = (type: string, path: string, kind: Kind = 'file') =>
  ({ type, path: `/t/${path}`, kind, mask: 0, source: 'poll' }) as Change
const rename = (from: string, path: string, kind: Kind = 'file', replaced = false) =>
  ({ ...change('rename', path, kind), from: `/t/${from}`, replaced }) as Change
const about = (type: string, path: string) => ({ type, path, source: 'poll' }) as Change

test('a change in words', () => {
  const told = [
    change('create', 'a b'),
    rename('a', 'd/b', 'directory', true),
    about('lost', '/t'),
    change('delete', '../x'),
  ]
  expect(told.map((each) => inWords(each, '/t'))).toEqual([
    'create file "a b"',
    'rename directory a d/b replaced',
    'lost .',
    'delete file ../x',
  ])
  const bytes = { ...change('create', 'a'), path: Buffer.from('/t/\xff', 'latin1') } as unknown as Change
  expect(inWords(legible(bytes), '/t')).toBe('create file "\\udcff"')
})

describe('a story leaves out', () => {
  test('what is done to what was created', () => {
    const told = [
      change('create', 'a'),
      change('modify', 'a'),
      rename('a', 'b'),
      change('attrib', 'b'),
      change('modify', 'a'),
    ]
    expect(story(told, '/t')).toEqual(['create file a', 'rename file a b', 'modify file a'])
    const again = [change('create', 'a'), change('delete', 'a'), change('modify', 'a')]
    expect(story(again, '/t')).toEqual(['create file a', 'delete file a', 'modify file a'])
    const below = [change('create', 'd/f'), rename('d', 'e', 'directory'), change('modify', 'e/f')]
    expect(story(below, '/t')).toEqual(['create file d/f', 'rename directory d e'])
  })

  test('what is told again, unless it is counted', () => {
    const told = [change('modify', 'a'), change('modify', 'a'), change('modify', 'b'), change('modify', 'a')]
    expect(story(told, '/t')).toEqual(['modify file a', 'modify file b', 'modify file a'])
    expect(story(told, '/t', true)).toHaveLength(4)
    const twice = [change('delete', 'a'), change('delete', 'a')]
    expect(story(twice, '/t')).toHaveLength(2)
  })

  test('deletes below what is deleted then', () => {
    const told = [
      change('delete', 'd/f'),
      change('delete', 'dd'),
      change('delete', 'd', 'directory'),
      change('delete', 'd/g'),
    ]
    expect(story(told, '/t')).toEqual(['delete file dd', 'delete directory d', 'delete file d/g'])
  })
})

test('order counts for inotify, but within a loose group', () => {
  const expected = [
    { loose: false, lines: ['1'] },
    { loose: true, lines: ['2', '3'] },
    { loose: false, lines: ['4'] },
  ]
  const matches = (told: string[], source: 'inotify' | 'poll') => {
    const [actual, wanted] = comparable(told, expected, source)
    return JSON.stringify(actual) === JSON.stringify(wanted)
  }
  expect(matches(['1', '3', '2', '4'], 'inotify')).toBe(true)
  expect(matches(['3', '1', '2', '4'], 'inotify')).toBe(false)
  expect(matches(['3', '1', '2', '4'], 'poll')).toBe(true)
  for (const source of ['inotify', 'poll'] as const) {
    expect(matches(['1', '2', '3', '4', '4'], source)).toBe(false)
    expect(matches(['1', '2', '3'], source)).toBe(false)
    expect(matches([], source)).toBe(false)
  }
})
