import { expect, test } from 'vitest'
import { Directory, WatchedMount } from '../../../src/watch/tree/directory.ts'
import { EntryCache } from '../../../src/watch/tree/entry_cache.ts'
import { file } from './believed.ts'

const mount = new WatchedMount({ backend: 'inotify', why: '' }, 1)

/** Directories of `size` files each, all of them used long ago. */
function directories(cache: EntryCache, count: number, size: number): Directory[] {
  const all = Array.from({ length: count }, (_, i) => {
    const directory = new Directory(`d${i}`, i + 1, mount)
    const entries = cache.entriesOf(directory)
    for (let j = 0; j < size; j++) entries.set(`f${j}`, file(j + 1))
    cache.forget(directory)
    cache.entriesOf(directory)
    return directory
  })
  cache.trim()
  return all
}

const unpackedOnes = (all: Directory[]) =>
  all.filter(({ unpackedSize }) => unpackedSize > 0).map(({ name }) => name)

/** Uses another so many times. */
function pass(cache: EntryCache, uses: number): void {
  const others = [new Directory('x', 1000, mount), new Directory('y', 1001, mount)]
  for (let i = 0; i < uses; i++) cache.entriesOf(others[i % 2] as Directory)
}

test('the oldest are packed when there are too many, and come back whole', () => {
  // An empty Map counts as four entries.
  const cache = new EntryCache(40)
  const all = directories(cache, 5, 6)
  expect(unpackedOnes(all)).toHaveLength(5)
  pass(cache, 1)
  cache.trim()
  // Fewer than there may be, so that the next use does not pack another.
  expect(unpackedOnes(all)).toEqual(['d3', 'd4'])
  const entries = cache.entriesOf(all[0] as Directory)
  expect([...entries]).toEqual(
    Array.from({ length: 6 }, (_, j) => [`f${j}`, { ...file(j + 1), stat: undefined }]),
  )
  expect(unpackedOnes(all)).toEqual(['d0', 'd3', 'd4'])
})

test('what was used last stays', () => {
  const cache = new EntryCache(30)
  const all = directories(cache, 3, 6)
  cache.entriesOf(all[0] as Directory)
  pass(cache, 1)
  cache.trim()
  expect(unpackedOnes(all)).toEqual(['d0'])
})

test('nothing is packed that was used since the last time, however much that is', () => {
  const cache = new EntryCache(10)
  const all = directories(cache, 3, 6)
  for (const each of all) cache.entriesOf(each)
  cache.trim()
  expect(unpackedOnes(all)).toHaveLength(3)
})

test('a large one stays while it is used in turn with others, and goes when it is not used for long', () => {
  const cache = new EntryCache(3000)
  const [large, other] = directories(cache, 2, 3200) as [Directory, Directory]
  for (let i = 0; i < 20; i++) {
    cache.entriesOf(i % 2 === 0 ? large : other)
    cache.trim()
    expect(unpackedOnes([large, other])).toHaveLength(2)
  }
  pass(cache, 40)
  cache.trim()
  expect(unpackedOnes([large, other])).toHaveLength(2)
  pass(cache, 20)
  cache.trim()
  expect(unpackedOnes([large, other])).toEqual([])
})

test('there is an end to what may be young', () => {
  const cache = new EntryCache(500)
  const all = directories(cache, 3, 3200)
  pass(cache, 1)
  cache.trim()
  expect(unpackedOnes(all)).toEqual(['d1', 'd2'])
})

test('one that has grown since it was used is counted as it is', () => {
  const cache = new EntryCache(100)
  const [first, second] = directories(cache, 2, 6) as [Directory, Directory]
  const entries = cache.entriesOf(second)
  for (let j = 0; j < 200; j++) entries.set(`g${j}`, file(j + 1))
  cache.trim()
  expect(unpackedOnes([first, second])).toEqual(['d1'])
})

test('what is forgotten counts no more', () => {
  const cache = new EntryCache(40)
  const all = directories(cache, 3, 6)
  cache.forget(all[0] as Directory)
  pass(cache, 1)
  cache.trim()
  expect(unpackedOnes(all)).toEqual(['d0', 'd1', 'd2'])
})

test('directories survive, and are those that they were; names that were changed are', () => {
  const cache = new EntryCache()
  const parent = new Directory('p', 1, mount)
  const below = [new Directory('x', 2, mount), new Directory('y', 3, mount)]
  for (const each of below) parent.adopt(each)
  expect([...parent.subdirectories()]).toEqual(below)
  const entries = cache.entriesOf(parent)
  entries.set('f', file(7))
  entries.set('\udcff', file(8))
  const added = new Directory('z', 4, mount)
  parent.adopt(added)
  entries.delete('x')
  for (let i = 0; i < 2; i++) {
    parent.compact()
    parent.compact()
    expect(parent.unpackedSize).toBe(0)
    expect([...parent.subdirectories()]).toEqual([below[1], added])
    const again = parent.unpacked()
    expect([...again.keys()].toSorted()).toEqual(['f', 'y', 'z', '\udcff'])
    expect(again.get('y')).toBe(below[1])
    expect(again.get('z')).toBe(added)
    expect(again.get('\udcff')?.ino).toBe(8)
  }
})

test('what is taken packed is what is believed, packed or not', () => {
  const packer = new Directory('a', 1, mount)
  packer.unpacked().set('f', file(300))
  packer.compact()
  const packed = '\x44\x01\x2c\x01f'
  expect(packer.isPackedAs(packed)).toBe(true)
  const directory = new Directory('d', 1, mount)
  directory.takePacked(packed)
  expect(directory.isPackedAs(packed)).toBe(true)
  expect([...directory.unpacked().keys()]).toEqual(['f'])
  expect(directory.isPackedAs(packed)).toBe(false)
})

test('who peeks at a directory that is packed leaves it so, and sees what is in it', () => {
  const cache = new EntryCache(0)
  const [directory] = directories(cache, 2, 6) as [Directory]
  const below = new Directory('below', 77, mount)
  directory.adopt(below)
  pass(cache, 1)
  cache.trim()
  expect(directory.unpackedSize).toBe(0)
  expect([...directory.peek().keys()]).toEqual(['f0', 'f1', 'f2', 'f3', 'f4', 'f5', 'below'])
  expect(directory.peek().get('below')).toBe(below)
  expect(directory.unpackedSize).toBe(0)
  expect(directory.peek()).toEqual(cache.entriesOf(directory))
})
