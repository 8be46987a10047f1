import { expect, test } from 'vitest'
import { RecentScans } from '../../../src/watch/pending/recent_scans.ts'
import type { Entry } from '../../../src/watch/scan/entry.ts'
import { Directory, WatchedMount } from '../../../src/watch/tree/directory.ts'

const [here, there] = [
  new WatchedMount({ backend: 'inotify', why: '' }, 1),
  new WatchedMount({ backend: 'inotify', why: '' }, 2),
]
const [a, b, c] = [new Directory('a', 1, here), new Directory('b', 2, here), new Directory('c', 3, there)]

test('a listing is ahead of the events of that directory, and of no other', () => {
  const listed = new RecentScans()
  expect([listed.isEmpty, listed.isAheadOf(a), listed.hasShown(a, 'x')]).toEqual([true, false, false])
  listed.add(a)
  expect([listed.isEmpty, listed.has(a), listed.has(b)]).toEqual([false, true, false])
  expect([...listed.all]).toEqual([a])
  expect([listed.isAheadOf(a), listed.isAheadOf(b)]).toEqual([true, false])
  expect([listed.hasShown(a, 'x'), listed.hasShown(b, 'x')]).toEqual([true, false])
})

test('that of a mount is ahead of those of every directory in it', () => {
  const listed = new RecentScans()
  listed.add(here)
  expect([...listed.all]).toEqual([here])
  expect([a, b, c].map((directory) => listed.isAheadOf(directory))).toEqual([true, true, false])
  expect([a, b, c].map((directory) => listed.hasShown(directory, 'x'))).toEqual([true, true, false])
})

test.each([
  ['a directory', a],
  ['its mount', here],
])('a name that was shown in %s is so until an event speaks of it, there', (_, what) => {
  const listed = new RecentScans()
  for (const each of new Set([what, b])) listed.add(each)
  listed.noteEvent(a, 'x')
  listed.noteEvent(a, 'y')
  const shown = (directory: Directory) => ['x', 'y', 'z'].filter((name) => listed.hasShown(directory, name))
  expect([shown(a), shown(b)]).toEqual([['z'], ['x', 'y', 'z']])
  // Its events may be older all the same.
  expect(listed.isAheadOf(a)).toBe(true)
  listed.add(what)
  expect(shown(a)).toEqual(['x', 'y', 'z'])
})

test('what was not listed is spoken of without leaving a trace', () => {
  const listed = new RecentScans()
  listed.noteEvent(a, 'x')
  expect(listed.isEmpty).toBe(true)
  listed.add(a)
  expect(listed.hasShown(a, 'x')).toBe(true)
})

test('a directory that was listed by itself counts by that, and not with its mount', () => {
  const listed = new RecentScans()
  listed.add(here)
  listed.noteEvent(a, 'x')
  listed.add(a)
  expect(listed.hasShown(a, 'x')).toBe(true)
})

test('what was listed before a hold is forgotten when it is released', () => {
  const listed = new RecentScans()
  for (const each of [a, there]) listed.add(each)
  const release = listed.hold()
  expect([listed.isAheadOf(a), listed.isAheadOf(c)]).toEqual([true, true])
  release()
  expect([listed.isEmpty, listed.isAheadOf(a), listed.isAheadOf(c)]).toEqual([true, false, false])
})

test('what was listed since, for the first time or again, waits for the next', () => {
  const listed = new RecentScans()
  for (const each of [a, there]) listed.add(each)
  const release = listed.hold()
  for (const each of [a, b]) listed.add(each)
  release()
  expect([...listed.all]).toEqual([a, b])
  listed.hold()()
  expect(listed.isEmpty).toBe(true)
})

test('what was shown at a name, and told as gone from there by whichever event, had been shown there; what was exchanged since is as it was told', () => {
  const listed = new RecentScans()
  const file = (ino: number): Entry => ({ kind: 'file', ino })
  const [shown, twin, exchanged] = [file(7), file(7), file(7)]
  listed.add(a)
  listed.noteEvent(a, 'x')
  expect(listed.hadShown(a, 'x', twin), 'still there').toBe(false)
  listed.noteEvent(a, 'x', shown)
  listed.noteEvent(a, 'x', file(8))
  listed.noteExchanged(exchanged)
  const isToBeTold = () => [twin, file(8), file(0), exchanged].map((each) => listed.hadShown(a, 'x', each))
  expect(isToBeTold()).toEqual([true, false, false, false])
  // The listing of b may have shown the exchanged file as it was written since.
  listed.add(b)
  expect(isToBeTold()).toEqual([true, false, false, true])
})
