import { constants } from 'node:os'
import { describe, expect, test } from 'vitest'
import type { Entry } from '../../../src/watch/scan/entry.ts'
import { type RecordSpec, VANISHED, walkOf } from '../scan/records.ts'
import { planOf, told, Walked } from './reconciling.ts'

type Names = Record<string, number | Entry>

const CASES: Array<[string, Names, Names, string[]]> = [
  ['nothing', { 'd/': 1, 'd/a': 2 }, { 'd/': 1, 'd/a': 2 }, []],
  ['a new tree', {}, { 'd/': 1, 'd/a': 2 }, ['create directory d', 'create file d/a']],
  ['a tree that is gone', { 'd/': 1, 'd/a': 2 }, {}, ['delete directory d']],
  [
    'a file across directories',
    { 'd/': 1, 'd/a': 2, 'e/': 3 },
    { 'd/': 1, 'e/': 3, 'e/b': 2 },
    ['rename file d/a e/b'],
  ],
  ['a directory with all below', { 'd/': 1, 'd/a': 2 }, { 'e/': 1, 'e/a': 2 }, ['rename directory d e']],
  [
    'a directory into another that is new',
    { 'd/': 1, 'd/a': 2 },
    { 'n/': 3, 'n/d/': 1, 'n/d/a': 2 },
    ['create directory n', 'rename directory d n/d'],
  ],
  [
    'a chain of directories',
    { 'a/': 1, 'b/': 2, 'c/': 3 },
    { 'b/': 1, 'c/': 2, 'd/': 3 },
    ['rename directory c d', 'rename directory b c', 'rename directory a b'],
  ],
  ['a chain of files', { a: 1, b: 2 }, { b: 1, c: 2 }, ['rename file b c', 'rename file a b']],
  ['a swap', { 'a/': 1, 'b/': 2 }, { 'a/': 2, 'b/': 1 }, ['exchange directory a directory b']],
  ['a swap of two kinds', { a: 1, 'b/': 2 }, { 'a/': 2, b: 1 }, ['exchange directory a file b']],
  ['a swap of files', { a: 1, b: 2 }, { a: 2, b: 1 }, ['exchange file a file b']],
  [
    'a circle of three',
    { a: 1, b: 2, c: 3 },
    { a: 3, b: 1, c: 2 },
    ['exchange file b file c', 'exchange file a file b'],
  ],
  [
    'a circle of three directories',
    { 'a/': 1, 'b/': 2, 'c/': 3 },
    { 'a/': 3, 'b/': 1, 'c/': 2 },
    ['exchange directory b directory c', 'exchange directory a directory b'],
  ],
  [
    'a file out of a directory that goes',
    { 'd/': 1, 'd/a': 2 },
    { a: 2 },
    ['rename file d/a a', 'delete directory d'],
  ],
  [
    'a directory out of one that goes',
    { 'd/': 1, 'd/e/': 2, 'd/e/a': 3 },
    { 'e/': 2, 'e/a': 3 },
    ['rename directory d/e e', 'delete directory d'],
  ],
  ['a file over another', { a: 1, b: 2 }, { b: 1 }, ['rename file a b replaced']],
  ['a directory over an empty one', { 'a/': 1, 'b/': 2 }, { 'b/': 1 }, ['rename directory a b replaced']],
  ['a new file in place of another', { a: 1 }, { a: 2 }, ['modify file a']],
  [
    'a new directory in place of another',
    { 'a/': 1 },
    { 'a/': 2 },
    ['delete directory a', 'create directory a'],
  ],
  ['another kind', { a: 1 }, { 'a/': 2 }, ['delete file a', 'create directory a']],
  ['a file of no UTF-8', { '\udcff': 1 }, { '\udcfe': 1 }, ['rename file \udcff \udcfe']],
]

describe.each([
  ['polled', true],
  ['watched', false],
] as const)('%s', (_, isPolled) => {
  test.each(CASES)('%s', (_, before, after, expected) => {
    let changes = told(planOf(before), planOf(after), isPolled)
    // Only the inode number of a moved file was known, so that a rescan tells a modify in case the file was
    // written.
    if (!isPolled)
      changes = changes.filter(
        (change, i) =>
          !(change.startsWith('modify') && /^(rename|exchange|modify)/.test(changes[i - 1] ?? '')),
      )
    expect(changes).toEqual(expected)
  })

  test('a directory turned inside out', () => {
    const changes = told(planOf({ 'a/': 1, 'a/b/': 2 }), planOf({ 'b/': 2, 'b/a/': 1 }), isPolled)
    expect(changes).toEqual(['rename directory a/b b', 'rename directory a b/a'])
  })
})

// Each entry waits for the next one to leave, in listing order.
test.each([
  ['chain', 6001, 'rename', 6000],
  ['circle', 6000, 'exchange', 5999],
])('a %s of 6,000 files, each with the name of the next', (_, names, type, count) => {
  const named = (by: number) =>
    planOf(Object.fromEntries(Array.from({ length: 6000 }, (_, i) => [`n${(i + by) % names}`, 1000 + i])))
  const changes = told(named(0), named(1), true)
  expect(changes.filter((change) => change.startsWith(type))).toHaveLength(count)
})

// Letting one entry go and trying all again took the cube of their number: minutes for these.
test.each([
  ['takes the place of the directory that it lies in', 0, 'create', 2000],
  ['takes the place of the next such directory, which is gone', 1, 'rename', 2000],
])('of 2,000 directories each %s', { timeout: 30_000 }, (_, by, type, count) => {
  const each = Array.from({ length: 2000 }, (_, i) => i)
  const before = each.flatMap((i) => [[`d${i}/`, 1 + i] as const, [`d${i}/c/`, 5000 + i] as const])
  const after = each.map((i) => [`d${i + by}/`, 5000 + i] as const)
  const changes = told(planOf(Object.fromEntries(before)), planOf(Object.fromEntries(after)), true)
  expect(changes.filter((change) => change.startsWith(type))).toHaveLength(count)
})

test('a directory that is made again has its watch, and all that is believed of it, listed or not', () => {
  const walked = new Walked(false)
  walked.find(planOf({ 'a/': 1, 'a/y/': 6, 'a/y/f': 7, 'a/b/': 2, 'a/b/x/': 3, 'a/b/x/f': 4, 'a/gone': 5 }))
  const [a, x, y] = [['a'], ['a', 'b', 'x'], ['a', 'y']].map((names) => walked.tree.find(walked.root, names))
  walked.tree.retired.clear()
  const after = planOf({ 'a/': 2, 'a/x/': 3, 'a/x/f': 4, 'a/b/': 1, 'a/b/y/': 6, 'a/b/y/f': 7 })
  const unchanged = (name: string) => name === 'x' || name === 'y'
  const records = walkOf(after, 1000).filter(({ name }) => !unchanged(name))
  expect(walked.words(walked.take(records, [walked.root], { isPartial: true }))).toEqual([
    'delete directory a',
    'create directory a',
    'create directory a/x',
    'create file a/x/f',
    'create directory a/b',
    'create directory a/b/y',
    'create file a/b/y/f',
  ])
  const paths = [a, x, y].map((directory) => directory && walked.tree.pathOf(directory))
  expect(paths).toEqual(['/t/a/b', '/t/a/x', '/t/a/b/y'])
  expect(walked.tree.retired).toEqual(new Set())
})

test('what is in the way, and cannot go before, is made again alone', () => {
  // The file must leave `b` before the former `a` can take its place, and by then `a` must be another
  // directory.
  const after = planOf({ 'b/': 1, 'b/s/': 2, 'a/': 5, 'a/p': 4 })
  expect(told(planOf({ 'a/': 1, 'a/s/': 2, 'b/': 3, 'b/p': 4 }), after, false)).toEqual([
    'delete directory b',
    'rename directory a b',
    'create directory a',
    'create file a/p',
  ])
})

test('a directory that is believed to lie in one that was found in it is new there, and in doubt where it was', () => {
  const walked = new Walked(false)
  walked.find(planOf({ 'a/': 1, 'a/b/': 2 }))
  const b = walked.at('a/b')
  const [top, below] = walkOf(planOf({ 'c/': 1 }), 1000) as [RecordSpec, RecordSpec]
  const changes = walked.take([{ ...top, ino: 2, wd: 1002 }, below], [b])
  expect(walked.words(changes)).toEqual(['create directory a/b/c'])
  const questions = [...walked.pending.rechecks.begin()]
  expect(questions).toEqual([[walked.root, ['a']]])
})

test('in a directory that is made again, one whose listing does not count is believed, and in doubt', () => {
  const walked = new Walked(false)
  walked.find(planOf({ 'a/': 1, 'a/s/': 2, 'a/b/': 3 }))
  walked.takeWork()
  const after = walkOf(planOf({ 'a/': 3, 'a/b/': 1, 'a/b/s/': 2 }), 1000)
  const records = after.map((each) =>
    each.name === 's' ? { ...each, flags: VANISHED, error: -constants.errno.ENOENT, wd: 0 } : each,
  )
  expect(walked.words(walked.take(records, [walked.root]))).toEqual([
    'delete directory a',
    'create directory a',
    'create directory a/b',
    'create directory a/b/s',
  ])
  const questions = [...walked.pending.rechecks.begin()]
  expect(questions.map(([{ name }, names]) => [name, names])).toEqual([['b', ['s']]])
})
