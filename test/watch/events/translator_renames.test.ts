import { describe, expect, test } from 'vitest'
import { IN_CREATE, IN_DELETE, IN_ISDIR, IN_MODIFY, IN_MOVED_FROM, IN_MOVED_TO } from '../../../src/index.ts'
import { entry, file, folder } from '../tree/believed.ts'
import { World } from './translating.ts'

describe('pairing', () => {
  test('a rename, its halves in two batches, with others in between', () => {
    const w = new World({ a: 1, x: 2 })
    const [from, to] = w.rename('a', 'b')
    const batches = [[from], [w.event(IN_MODIFY, 'x')], [w.event(IN_DELETE, 'x')], [to]]
    expect(w.told(batches, { b: file(1) })).toEqual(['modify file x', 'delete file x', 'rename file a b'])
    expect([...w.tree.entriesOf(w.root)]).toEqual([['b', file(1)]])
  })

  test('two renames whose halves are interleaved are paired by cookie', () => {
    const w = new World({ a: 1, 'b/': 2 })
    const [a, c] = w.rename('a', 'c', 1)
    const [b, e] = w.rename('b', 'e', 2, IN_ISDIR)
    expect(w.told([[a, b, c, e]])).toEqual(['rename file a c', 'rename directory b e'])
    expect(w.believed).toEqual(['c', 'e/'])
  })

  test('the mask is that of both halves', () => {
    const w = new World({ 'b/': 2 })
    const [change] = w.translate(w.rename('b', 'e', 2, IN_ISDIR))
    expect(change).toMatchObject({ mask: IN_MOVED_FROM | IN_MOVED_TO | IN_ISDIR, source: 'inotify' })
  })

  test('across directories', () => {
    const w = new World({ 'one/': 1, 'one/a': 2, 'two/': 3 })
    expect(w.told([w.rename('one/a', 'two/b')])).toEqual(['rename file one/a two/b'])
    expect(w.believed).toEqual(['one/', 'two/', 'two/b'])
  })

  test('one inode watched by two paths: each has its rename', () => {
    const w = new World({ 'one/': 1, 'one/a': 2, 'two/': 1, 'two/a': 2 })
    w.watch(w.at('two'), 'two', w.at('one').wd)
    const expected = ['rename file one/a one/b', 'rename file two/a two/b']
    expect(w.told([w.rename('one/a', 'one/b')])).toEqual(expected)
    expect(w.believed).toEqual(['one/', 'one/b', 'two/', 'two/b'])
    expect(w.told([[w.event(IN_MOVED_FROM, 'one/b', 5)]])).toEqual(['delete file one/b', 'delete file two/b'])
  })

  test('a to b to c is two renames; there and back again too', () => {
    const w = new World({ a: 1 })
    const on = [...w.rename('a', 'b', 1), ...w.rename('b', 'c', 2)]
    expect(w.told([on], { c: file(1) })).toEqual(['rename file a b', 'rename file b c'])
    const back = [...w.rename('c', 'b', 3), ...w.rename('b', 'c', 4)]
    expect(w.told([back], { c: file(1) })).toEqual(['rename file c b', 'rename file b c'])
    expect(w.believed).toEqual(['c'])
  })
})

test('an exchange that was taken for a rename over and back, as it was made once more before anybody looked: what was written between is told', () => {
  const w = new World({ a: 1, b: 2 })
  const there = { a: file(1), b: file(2) }
  const swap = (cookie: number) => [...w.rename('a', 'b', cookie), ...w.rename('b', 'a', cookie + 1)]
  expect(w.told([swap(1)], there)).toEqual(['rename file a b replaced', 'rename file b a'])
  const expected = ['rename file a b', 'modify file b', 'rename file b a', 'modify file a']
  expect(w.told([[w.event(IN_MODIFY, 'b')], swap(3)], there)).toEqual(expected)
  // After a look the tree is right.
  const { rechecks } = w.pending
  for (const directory of rechecks.begin().keys()) rechecks.settle(directory)
  expect(w.told([swap(5)], there)).toEqual(['rename file a b', 'rename file b a'])
})

test.each([
  ['nothing is', undefined, false],
  ['something is in between in another directory', 'd/x', false],
  ['something is made in between in the directory', 'x', true],
] as const)(
  'a rename over and back may be an exchange, whose events come together: %s',
  (_, made, isSure) => {
    const w = new World({ a: 1, b: 2, 'd/': 3, 'd/y': 4 })
    w.translate(w.rename('a', 'b', 1))
    if (made !== undefined) w.translate([w.event(IN_CREATE, made), ...w.rename('d/y', 'd/z', 3)])
    w.translate(w.rename('b', 'a', 2))
    expect(w.pending.rechecks.mayBeSwapped(w.root, 'a')).toBe(!isSure)
  },
)

describe('vacated names', () => {
  test('that come again from outside are deleted before', () => {
    const w = new World({ a: 1 })
    const events = [w.event(IN_MOVED_FROM, 'a', 1), w.event(IN_MOVED_TO, 'a', 2)]
    expect(w.told([events], { a: file(1) })).toEqual(['delete file a', 'create file a'])
    expect(w.tree.entriesOf(w.root).get('a')).toEqual(file(1))
  })

  test.each([
    ['created', IN_CREATE, ['delete file a', 'create file a']],
    ['made a directory', IN_CREATE | IN_ISDIR, ['delete file a', 'create directory a']],
  ])('that are %s again are deleted before', (_, mask, expected) => {
    const w = new World({ a: 1 })
    expect(w.told([[w.event(IN_MOVED_FROM, 'a', 1), w.event(mask, 'a')]])).toEqual(expected)
  })

  test('and taken again before the second half, which is then told before', () => {
    const w = new World({ a: 1 })
    const [from, to] = w.rename('a', 'b')
    expect(w.told([[from, w.event(IN_CREATE, 'a'), w.event(IN_MODIFY, 'a'), to]])).toEqual([
      'rename file a b',
      'create file a',
      'modify file a',
    ])
    expect(w.believed).toEqual(['a', 'b'])
  })

  test('those of 100,000 names that are spoken of again in one batch take no more time each than those of 10,000', () => {
    /** μs of this process's CPU time. */
    const cost = (count: number): number => {
      const w = new World()
      const names = Array.from({ length: count }, (_, i) => `f${i}`)
      const entries = w.tree.editableEntriesOf(w.root)
      for (const [i, name] of names.entries()) entries.set(name, file(i + 1))
      const out = names.map((name, i) => w.event(IN_MOVED_FROM, name, i + 1))
      const again = names.map((name) => w.event(IN_CREATE, name))
      const before = process.cpuUsage()
      expect(w.told([[...out, ...again]])).toHaveLength(2 * count)
      return process.cpuUsage(before).user
    }
    // 100 times as much, if each walked through the others.
    expect(cost(100_000) / cost(10_000)).toBeLessThan(40)
  })
})

describe('over something', () => {
  test('replaced', () => {
    const w = new World({ a: 1, b: 2 })
    expect(w.told([w.rename('a', 'b')], { b: file(1) })).toEqual(['rename file a b replaced'])
  })

  test('though a new one has the old name and the freed inode number', () => {
    const w = new World({ a: 1, b: 2 })
    expect(w.told([w.rename('a', 'b')], { b: file(1), a: file(2) })).toEqual(['rename file a b replaced'])
  })

  test('a directory over an empty one, whose watch goes', () => {
    const w = new World({ 'a/': 1, 'a/f': 2, 'b/': 3 })
    const [a, b] = [w.at('a'), w.at('b').wd]
    expect(w.told([w.rename('a', 'b', 1, IN_ISDIR)])).toEqual(['rename directory a b replaced'])
    expect([w.at('b'), w.believed, [...w.tree.retired]]).toEqual([a, ['b/', 'b/f'], [b]])
  })

  test('itself, which a listing has shown there already: that was told, and is replaced by what may have been written since it was shown', () => {
    const w = new World({ a: 1, b: 1 })
    w.pending.scans.add(w.root)
    expect(w.told([w.rename('a', 'b')], { b: file(1) })).toEqual([
      'rename file a b replaced',
      'modify file b',
    ])
    expect(new Set(w.takeDoubts())).toEqual(new Set(['a', 'b']))
  })

  test('and back is no exchange', () => {
    const w = new World({ a: 1, b: 2 })
    const events = [...w.rename('a', 'b', 1), ...w.rename('b', 'a', 2)]
    expect(w.told([events], { a: file(1), b: null })).toEqual(['rename file a b replaced', 'rename file b a'])
    expect(w.believed).toEqual(['a'])
  })
})

describe('writes', () => {
  test('queued behind the first half of a rename come before it', () => {
    const w = new World({ a: 1 })
    const [from, to] = w.rename('a', 'b')
    expect(w.told([[from, w.event(IN_MODIFY, 'a'), to]], { b: file(1) })).toEqual([
      'modify file a',
      'rename file a b',
    ])
    expect(w.takeDoubts()).toEqual([])
  })
})

describe('hidden names', () => {
  test('on either side of a rename', () => {
    const w = new World({ a: 1, b: 2 })
    w.rules.hidden.add('x')
    const events = [...w.rename('x', 'c', 1), ...w.rename('a', 'x', 2)]
    expect(w.told([events], { c: file(3), x: file(1) })).toEqual(['create file c', 'delete file a'])
    expect(w.told([[w.event(IN_CREATE, 'x'), w.event(IN_MODIFY, 'x')]], { x: file(1) })).toEqual([])
    expect(w.believed).toEqual(['b', 'c'])
  })

  test('a directory below which others may be hidden now is listed again, with all below', () => {
    const w = new World({ 'd/': 1, 'd/e/': 2 })
    w.rules.hidden.add('n/e/x')
    expect(w.told([w.rename('d', 'n', 1, IN_ISDIR)])).toEqual(['rename directory d n'])
    expect(w.takeWork().listed).toEqual(['n', 'n/e'])
  })

  test('what changes places with another, and is hidden where that was, is gone', () => {
    const w = new World({ 'b/': 2, a: 1 })
    // The rule does not hide files: rules may ask for the kind.
    const hides = (path: string, kind: string) => path === '/t/a' && kind === 'directory'
    w.rules.hides = hides as typeof w.rules.hides
    w.rules.hidden.add('something')
    const events = [...w.rename('a', 'b', 1), ...w.rename('b', 'a', 2, IN_ISDIR)]
    expect(w.told([events], { a: folder(2), b: file(1) })).toEqual(['delete directory b', 'rename file a b'])
    expect(w.believed).toEqual(['b'])
  })

  test('a directory to a hidden name goes with its watches', () => {
    const w = new World({ 'd/': 1, 'd/f': 2 })
    w.rules.hidden.add('x')
    expect(w.told([w.rename('d', 'x', 1, IN_ISDIR)])).toEqual(['delete directory d'])
    expect([w.believed, [...w.tree.retired]]).toEqual([[], [2]])
  })
})

test('a link that was renamed is followed from its new place', () => {
  const w = new World({ l: entry('symlink', 1), m: entry('symlink', 2) })
  w.rules.followsLinks = true
  expect(w.told([w.rename('l', 'n')], { n: entry('symlink', 1) })).toEqual(['rename symlink l n'])
  expect(w.takeWork().looked).toEqual(['n'])
})

test('of another kind than was seen there meanwhile: what was known counts', () => {
  const w = new World({ a: 1 })
  expect(w.told([w.rename('a', 'b')], { b: folder(9) })).toEqual(['rename file a b'])
  expect(w.tree.entriesOf(w.root).get('b')).toEqual(file(1))
})
