import { describe, expect, test } from 'vitest'
import { UnconfirmedLooks } from '../../../src/watch/pending/unconfirmed_looks.ts'
import type { Entry } from '../../../src/watch/scan/entry.ts'
import { WatchedMount } from '../../../src/watch/tree/directory.ts'
import { Tree } from '../../../src/watch/tree/tree.ts'
import { seen } from '../tree/believed.ts'

/** A believed directory, in which a look has shown `a` to be what it is believed to be by now. */
function looking(before: Entry, now: Entry) {
  const tree = new Tree()
  const root = tree.addRoot('/t', new WatchedMount('inotify+poll', '', 1))
  const entries = tree.editableEntriesOf(root)
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

const NEVER = () => false

test('a look that shows again what was told leaves nothing open', () => {
  const { looks, root, entries } = looking(OLD, ANOTHER)
  const renamed = seen('file', 1, { size: 1, ctime: 9 })
  looks.note(root, 'a', ANOTHER, renamed)
  entries.set('a', renamed)
  expect(looks.isEmpty).toBe(true)
})

test('what no event has told when a mark behind the look is met is to be found by a poll; with a mark that was set before, there may be one', () => {
  const { looks, root, entries } = looking(OLD, WRITTEN)
  const confirm = looks.hold(NEVER)
  looks.note(root, 'b', OLD, ANOTHER)
  entries.set('b', ANOTHER)
  const { revision } = root.mount
  confirm()
  expect([...entries]).toEqual([
    ['a', OLD],
    ['b', ANOTHER],
  ])
  expect(root.mount.revision).toBeGreaterThan(revision)
  expect(looks.isEmpty).toBe(false)
  looks.hold(NEVER)()
  expect(entries.get('b')).toEqual(OLD)
  expect(looks.isEmpty).toBe(true)
})

test('what an event has told by the mark stays as it is', () => {
  const { looks, root, entries } = looking(OLD, WRITTEN)
  const confirm = looks.hold(NEVER)
  looks.take(root, 'a')
  confirm()
  expect(entries.get('a')).toEqual(WRITTEN)
})

test('what has left and not arrived waits for the next mark', () => {
  const { looks, entries } = looking(OLD, WRITTEN)
  looks.hold((_, name) => name === 'a')()
  expect(entries.get('a')).toEqual(WRITTEN)
  looks.hold(NEVER)()
  expect(entries.get('a')).toEqual(OLD)
})

test('an overflow before the mark is met is not confirmed by it', () => {
  const { looks, entries } = looking(OLD, WRITTEN)
  const confirm = looks.hold(NEVER)
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

describe('of what an event has told', () => {
  /** `a` is what it is believed to be, and an event has told that it holds something else. */
  function telling(entry: Entry) {
    const { looks, root, entries } = looking(OLD, entry)
    looks.noteTold(root, 'a', entry)
    /** Looks show this, one after the other, and a mark behind them is met. */
    const show = (...shown: Entry[]) => {
      for (const each of shown) {
        looks.note(root, 'a', OLD, each)
        entries.set('a', each)
      }
      looks.hold(NEVER)()
    }
    return { looks, root, entries, show }
  }

  test.each([
    ['a write', [WRITTEN]],
    ['another file', [ANOTHER]],
    ['another file behind the same', [OLD, ANOTHER]],
  ])('%s that a look shows later is to be found', (_, shown) => {
    const { looks, entries, show } = telling(OLD)
    show(...shown)
    expect(entries.get('a')).toEqual(OLD)
    expect(looks.isEmpty).toBe(true)
  })

  test('where it could not be seen, the first look has seen what was told; but after an overflow nobody knows', () => {
    const unseen: Entry = { kind: 'file', ino: 1 }
    const { looks, root, entries, show } = telling(unseen)
    show(WRITTEN)
    expect(entries.get('a')).toEqual(WRITTEN)
    looks.noteTold(root, 'a', unseen)
    looks.revert()
    expect(entries.get('a')).toEqual(unseen)
  })

  test('where it could not be seen, and may have been any file, another than the first look has shown is to be found', () => {
    const { entries, show } = telling({ kind: 'file', ino: 0 })
    show(OLD, ANOTHER)
    expect(entries.get('a')?.ino).toBe(OLD.ino)
  })

  test('another mode that an event has told is not to be found; what was written is', () => {
    const OPEN = seen('file', 1, { size: 1, mode: 0o600 })
    const { looks, root, entries } = looking(OLD, OPEN)
    looks.noteAttrib(root, 'a', OPEN)
    expect(looks.isEmpty).toBe(true)
    const both = seen('file', 1, { size: 2, mode: 0o600 })
    looks.note(root, 'a', OLD, both)
    entries.set('a', both)
    looks.noteAttrib(root, 'a', both)
    looks.hold(NEVER)()
    expect(entries.get('a')).toEqual(OPEN)
  })

  test('nothing is kept where no times are', () => {
    const { looks, root } = looking(OLD, WRITTEN)
    root.mount.backend = 'inotify'
    looks.noteTold(root, 'a', WRITTEN)
    expect(looks.isEmpty).toBe(true)
  })
})
