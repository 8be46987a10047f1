import { expect, test } from 'vitest'
import { Directory } from '../../../src/watch/tree/directory.ts'
import { EntryCache } from '../../../src/watch/tree/entry_cache.ts'
import { WatchedMount } from '../../../src/watch/tree/watched_mount.ts'
import { file } from './believed.ts'

const mount = new WatchedMount('inotify', '', 1)

/** Directories of `size` files each. */
function directories(warm: EntryCache, count: number, size: number): Directory[] {
  return Array.from({ length: count }, (_, i) => {
    const directory = new Directory(`d${i}`, i + 1, mount)
    const entries = warm.entriesOf(directory)
    for (let j = 0; j < size; j++) entries.set(`f${j}`, file(j + 1))
    warm.forget(directory)
    warm.entriesOf(directory)
    return directory
  })
}

const warmOnes = (all: Directory[]) => all.filter(({ isWarm }) => isWarm).map(({ name }) => name)

test('the oldest are packed when there are too many, and come back whole', () => {
  // An empty Map counts as four entries.
  const warm = new EntryCache(30)
  const all = directories(warm, 5, 6)
  expect(warmOnes(all)).toEqual(['d2', 'd3', 'd4'])
  const entries = warm.entriesOf(all[0] as Directory)
  expect([...entries]).toEqual(
    Array.from({ length: 6 }, (_, j) => [`f${j}`, { ...file(j + 1), stat: undefined }]),
  )
  expect(warmOnes(all)).toEqual(['d0', 'd3', 'd4'])
})

test('what was used last stays', () => {
  const warm = new EntryCache(30)
  const all = directories(warm, 3, 6)
  warm.entriesOf(all[0] as Directory)
  warm.entriesOf(new Directory('more', 9, mount))
  expect(warmOnes(all)).toEqual(['d0', 'd2'])
})

test('one that is too large alone is not packed while it is in use', () => {
  const warm = new EntryCache(10)
  const [large] = directories(warm, 1, 100) as [Directory]
  expect(large.isWarm).toBe(true)
  warm.entriesOf(new Directory('other', 9, mount))
  expect(large.isWarm).toBe(false)
  expect(large.warmSize).toBe(0)
  expect(warm.entriesOf(large).size).toBe(100)
})

test('what is forgotten counts no more', () => {
  const warm = new EntryCache(30)
  const all = directories(warm, 3, 6)
  warm.forget(all[0] as Directory)
  directories(warm, 1, 6)
  expect(warmOnes(all)).toEqual(['d0', 'd1', 'd2'])
})

test('directories survive, and are those that they were; names that were changed are', () => {
  const warm = new EntryCache()
  const parent = new Directory('p', 1, mount)
  const below = [new Directory('x', 2, mount), new Directory('y', 3, mount)]
  for (const each of below) parent.adopt(each)
  expect([...parent.subdirectories()]).toEqual(below)
  const entries = warm.entriesOf(parent)
  entries.set('f', file(7))
  entries.set('\udcff', file(8))
  const added = new Directory('z', 4, mount)
  parent.adopt(added)
  entries.delete('x')
  for (let i = 0; i < 2; i++) {
    parent.compact()
    parent.compact()
    expect(parent.isWarm).toBe(false)
    expect([...parent.subdirectories()]).toEqual([below[1], added])
    const again = parent.warm()
    expect([...again.keys()].toSorted()).toEqual(['f', 'y', 'z', '\udcff'])
    expect(again.get('y')).toBe(below[1])
    expect(again.get('z')).toBe(added)
    expect(again.get('\udcff')?.ino).toBe(8)
  }
})

test('what is taken packed is what is believed, packed or not', () => {
  const packer = new Directory('a', 1, mount)
  packer.warm().set('f', file(300))
  packer.compact()
  const packed = '\x00\x02\x01\x01\x2c\x01f'
  expect(packer.isPackedAs(packed)).toBe(true)
  const directory = new Directory('d', 1, mount)
  directory.takePacked(packed)
  expect(directory.isPackedAs(packed)).toBe(true)
  expect([...directory.warm().keys()]).toEqual(['f'])
  expect(directory.isPackedAs(packed)).toBe(false)
})
