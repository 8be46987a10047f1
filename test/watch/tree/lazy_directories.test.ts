import { expect, test } from 'vitest'
import { UnchangedDirectories } from '../../../src/watch/diff/snapshot/unchanged_directories.ts'
import type { Entry } from '../../../src/watch/scan/entry.ts'
import { listingsIn } from '../../../src/watch/scan/listing.ts'
import { Directory, WatchedMount } from '../../../src/watch/tree/directory.ts'
import { Tree } from '../../../src/watch/tree/tree.ts'
import { BOUNDARY, type RecordSpec, recordsOf, VANISHED } from '../scan/records.ts'

const file = (ino: number): Entry => ({ kind: 'file', ino })

// r/a, r/a/b, r/a/b/c, r/d, their watches counted from 11.
const RECORDS: RecordSpec[] = [
  { id: 1, parent: 0, name: 'a', ino: 101, wd: 11, entries: [['f', file(7)]] },
  { id: 2, parent: 1, name: 'b', ino: 102, wd: 12 },
  { id: 3, parent: 0, name: 'd', ino: 104, wd: 14 },
  { id: 4, parent: 2, name: 'c', ino: 103, wd: 13, entries: [['g', file(8)]] },
]

function beginIn(tree: Tree, path = '/r') {
  const mount = new WatchedMount({ backend: 'inotify', why: '' }, 1)
  const top = tree.addRoot(path, mount)
  const lazy = tree.beginLazy(top)
  lazy.open()
  const left = (records: readonly RecordSpec[]) =>
    [...listingsIn(recordsOf(records))].filter((each) => !lazy.take(each)).map(({ name }) => name)
  return { top, mount, lazy, left }
}

function sealedWith(tree: Tree, path?: string, records = RECORDS) {
  const begun = beginIn(tree, path)
  expect(begun.left(records)).toEqual([])
  begun.lazy.seal()
  return begun
}

const pathsIn = (tree: Tree, top: Directory) => [...tree.within(top)].map((each) => tree.pathOf(each)).sort()

test('a directory is made when its watch is asked for', () => {
  const tree = new Tree()
  const { mount } = sealedWith(tree)
  expect(mount.directories).toBe(5)
  const [c] = tree.at(13) as [Directory]
  expect(tree.pathOf(c)).toBe('/r/a/b/c')
  expect([c.ino, c.wd, c.isListed, c.mount]).toEqual([103, 13, true, mount])
  expect([...tree.entriesOf(c)]).toEqual([['g', file(8)]])
  // The directory is made only once.
  expect(tree.onlyAt(13)).toBe(c)
  expect(tree.onlyAt(12)).toBe(c.parent)
  expect(tree.onlyAt(15)).toBeUndefined()
})

test('those in a directory are made when they are asked for, in the order in which they were found', () => {
  const tree = new Tree()
  const { top } = sealedWith(tree)
  expect([...tree.entriesOf(top).keys()]).toEqual(['a', 'd'])
  expect([...tree.entriesOf(tree.find(top, ['a']) as Directory).keys()]).toEqual(['f', 'b'])
  expect(pathsIn(tree, top)).toEqual(['/r', '/r/a', '/r/a/b', '/r/a/b/c', '/r/d'])
})

test('one that is made goes where it is taken, with what is below it', () => {
  const tree = new Tree()
  const { top } = sealedWith(tree)
  const [a, d] = [tree.onlyAt(11), tree.onlyAt(14)] as [Directory, Directory]
  tree.detach(a)
  tree.attach(a, d, 'e')
  expect(tree.pathOf(tree.onlyAt(13) as Directory)).toBe('/r/d/e/b/c')
  expect(tree.isAttached(tree.onlyAt(12) as Directory)).toBe(true)
  expect(pathsIn(tree, top)).toEqual(['/r', '/r/d', '/r/d/e', '/r/d/e/b', '/r/d/e/b/c'])
})

test('one that is dropped takes with it what was not made', () => {
  const tree = new Tree()
  const { mount } = sealedWith(tree)
  tree.drop(tree.onlyAt(11) as Directory)
  expect(mount.directories).toBe(2)
  expect([...tree.retired].sort()).toEqual([11, 12, 13])
  expect([11, 12, 13].map((wd) => tree.hasWatch(wd))).toEqual([false, false, false])
})

test('a watch that the kernel does not have is missed', () => {
  const tree = new Tree()
  sealedWith(tree)
  expect(tree.watchedBut(new Set([11, 12, 14])).map((each) => tree.pathOf(each))).toEqual(['/r/a/b/c'])
})

test('what there is more to than a directory is left', () => {
  const tree = new Tree()
  const { left } = beginIn(tree)
  tree.setWatch(new Directory('x', 1, new WatchedMount({ backend: 'inotify', why: '' }, 1)), 20)
  const records: RecordSpec[] = [
    { id: 1, parent: 0, name: 'plain', wd: 11 },
    { id: 2, parent: 0, name: 'unreadable', wd: 12, error: -13 },
    { id: 3, parent: 0, name: 'unwatched', wd: -28 },
    { id: 4, parent: 0, name: 'mount', flags: BOUNDARY },
    { id: 5, parent: 0, name: 'elsewhere', wd: 20 },
    { id: 10, parent: 0, name: 'changing', wd: 16, flags: VANISHED },
    { id: 6, parent: 0, name: 'again', wd: 11 },
    { id: 7, parent: 2, name: 'below what was left', wd: 13 },
    { id: 8, parent: 1, name: 'below what was taken', wd: 15 },
    { id: 9, parent: 8, name: 'far', wd: 1_000_000 },
  ]
  const others = [
    'unreadable',
    'unwatched',
    'mount',
    'elsewhere',
    'changing',
    'again',
    'below what was left',
    'far',
  ]
  expect(left(records)).toEqual(others)
})

test('while the walk goes on', () => {
  const tree = new Tree()
  const { top, lazy, left } = beginIn(tree)
  left(RECORDS.slice(0, 2))
  const b = lazy.directoryOf(2) as Directory
  expect(tree.pathOf(b)).toBe('/r/a/b')
  // All directories in these two have been made: a later name may be in records that came since.
  expect(left(RECORDS.slice(2, 3))).toEqual(['d'])
  expect(left(RECORDS.slice(3))).toEqual([])
  expect(lazy.directoryOf(0)).toBe(top)
  expect(lazy.directoryOf(9)).toBeUndefined()
  lazy.seal()
  expect(pathsIn(tree, top)).toEqual(['/r', '/r/a', '/r/a/b', '/r/a/b/c'])
})

test('of one walk after the other, and one that found nothing', () => {
  const tree = new Tree()
  const first = sealedWith(tree)
  const later = RECORDS.map((record) => ({ ...record, wd: (record.wd ?? 0) + 4 }))
  const second = sealedWith(tree, '/s', later)
  sealedWith(tree, '/t', [])
  expect([11, 12, 13, 14, 15, 16, 17, 18].map((wd) => tree.pathOf(tree.onlyAt(wd) as Directory))).toEqual(
    ['/r', '/s'].flatMap((root) => [`${root}/a`, `${root}/a/b`, `${root}/a/b/c`, `${root}/d`]),
  )
  tree.drop(first.top)
  expect(pathsIn(tree, second.top)).toHaveLength(5)
})

test.each([1, 2])(
  'directories with the same watches are as kept if they lie on the same mount (%d of 1)',
  (mountId) => {
    const tree = new Tree()
    sealedWith(tree)
    const walk = new UnchangedDirectories(tree)
    // r/a, as a bind mount elsewhere shows it.
    const records: RecordSpec[] = [
      { id: 0, name: '', ino: 101, wd: 11, entries: [['f', file(7)]] },
      { id: 1, parent: 0, name: 'b', ino: 102, wd: 12 },
    ]
    const left = [...listingsIn(recordsOf(records.map((record) => ({ ...record, mountId }))))]
    expect(left.map((listing) => walk.take(listing))).toEqual([false, mountId === 1])
  },
)

test('many, in no order', () => {
  const tree = new Tree()
  const { top, lazy, left } = beginIn(tree)
  const ids = Array.from({ length: 5000 }, (_, i) => i + 1)
  // Each in one of those before it; two neighbours' watches change places.
  const records = ids.map((id) => ({
    id,
    parent: Math.floor(((id * 7919) % 1000) * (id / 1000) * 0.19) % id,
    name: `d${id}`,
    wd: 100 + (id ^ 1),
  }))
  for (let start = 0; start < ids.length; start += 700) {
    expect(left(records.slice(start, start + 700))).toEqual([])
  }
  lazy.seal()
  for (const { id, parent, wd } of [...records].reverse()) {
    const directory = tree.onlyAt(wd)
    expect(directory?.name).toBe(`d${id}`)
    expect(directory?.parent?.name).toBe(parent === 0 ? '/r' : `d${parent}`)
  }
  expect([...tree.within(top)]).toHaveLength(5001)
})
