import { expect, test } from 'vitest'
import { UnconfirmedLooks } from '../../../src/watch/pending/unconfirmed_looks.ts'
import type { Entry } from '../../../src/watch/scan/entry.ts'
import { WatchedMount } from '../../../src/watch/tree/directory.ts'
import { Tree } from '../../../src/watch/tree/tree.ts'
import { seen } from '../tree/believed.ts'

/** A believed directory, in which a look has shown `a` to be what it is believed to be by now. */
function looking(before: Entry, now: Entry) {
  const tree = new Tree()
  const root = tree.addRoot('/t', new WatchedMount('inotify+poll', '', 1))
  const entries = tree.entriesOf(root)
  const looks = new UnconfirmedLooks(tree)
  looks.note(root, 'a', before, now)
  entries.set('a', now)
  return { looks, root, entries }
}

const OLD = seen('file', 1, { size: 1 })
const WRITTEN = seen('file', 1, { size: 2 })
const ANOTHER = seen('file', 2, { size: 1 })

test.each([
  ['a write', WRITTEN],
  ['another file', ANOTHER],
])('%s that a look has shown is to be found where its event is lost', (_, now) => {
  const { looks, entries } = looking(OLD, now)
  looks.revert()
  expect(entries.get('a')).toEqual(OLD)
})

test('a second look does not count as told either', () => {
  const { looks, root, entries } = looking(OLD, ANOTHER)
  looks.note(root, 'a', ANOTHER, WRITTEN)
  entries.set('a', WRITTEN)
  looks.revert()
  expect(entries.get('a')).toEqual(OLD)
})

test('what a rename does to a file is no write', () => {
  const now = seen('file', 1, { size: 1, ctime: 9 })
  const { looks, entries } = looking(OLD, now)
  looks.revert()
  expect(entries.get('a')).toBe(now)
})

test('a mark behind the look confirms it; one that was set before does not', () => {
  const { looks, root, entries } = looking(OLD, WRITTEN)
  const confirm = looks.hold()
  looks.note(root, 'b', OLD, ANOTHER)
  entries.set('b', ANOTHER)
  confirm()
  looks.revert()
  expect([...entries]).toEqual([
    ['a', WRITTEN],
    ['b', OLD],
  ])
})

test('an overflow before the mark is met is not confirmed by it', () => {
  const { looks, entries } = looking(OLD, WRITTEN)
  const confirm = looks.hold()
  looks.revert()
  confirm()
  expect(entries.get('a')).toEqual(OLD)
})

test('it goes with the entry, and with what is told of it', () => {
  const { looks, root, entries } = looking(OLD, WRITTEN)
  looks.put(root, 'b', looks.take(root, 'a'))
  entries.set('b', WRITTEN)
  looks.revert()
  expect([entries.get('a'), entries.get('b')]).toEqual([WRITTEN, OLD])
  looks.note(root, 'b', OLD, WRITTEN)
  looks.take(root, 'b')
  entries.set('b', WRITTEN)
  looks.revert()
  expect(entries.get('b')).toEqual(WRITTEN)
})

test('another that has the name by now is left as it is', () => {
  const { looks, entries } = looking(OLD, WRITTEN)
  entries.set('a', ANOTHER)
  looks.revert()
  expect(entries.get('a')).toEqual(ANOTHER)
})
