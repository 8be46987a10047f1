import { expect, test } from 'vitest'
import { IN_CREATE, IN_IGNORED, IN_MODIFY, IN_MOVED_TO, IN_Q_OVERFLOW } from '../../src/index.ts'
import { Inode } from './kernel/inode.ts'
import { InotifyGroup, type Mark } from './kernel/inotify_group.ts'

/** An instance with a watch of two directories. */
function watching(maxEvents: number, maxWatches?: number) {
  const group = new InotifyGroup(maxEvents, maxWatches)
  const marks = [1, 2].map((ino) => {
    const directory = new Inode(ino, 'directory', 0)
    group.add(directory, IN_CREATE | IN_MODIFY | IN_MOVED_TO)
    return directory.marks.get(group) as Mark
  })
  const [one, other] = marks as [Mark, Mark]
  return { group, one, other }
}

const masks = (group: InotifyGroup) => group.read().map(({ mask }) => mask)

test('an event that follows its like is merged with it, whatever its cookie; not with one that was read', () => {
  const { group, one, other } = watching(8)
  group.notify(one, IN_MOVED_TO, 1, 'a')
  group.notify(one, IN_MOVED_TO, 2, 'a')
  group.notify(other, IN_MOVED_TO, 3, 'a')
  group.notify(one, IN_MOVED_TO, 4, 'b')
  expect(group.read().map(({ cookie }) => cookie)).toEqual([1, 3, 4])
  group.notify(one, IN_MOVED_TO, 5, 'b')
  expect(group.length).toBe(1)
})

test('a full queue loses what could be merged as well, and says so once', () => {
  const { group, one } = watching(2)
  group.notify(one, IN_CREATE, 0, 'a')
  group.notify(one, IN_MODIFY, 0, 'a')
  group.notify(one, IN_MODIFY, 0, 'a')
  group.notify(one, IN_CREATE, 0, 'b')
  expect(masks(group)).toEqual([IN_CREATE, IN_MODIFY, IN_Q_OVERFLOW])
  group.notify(one, IN_CREATE, 0, 'c')
  expect(masks(group)).toEqual([IN_CREATE])
})

test('an overflow swallows IN_IGNORED', () => {
  const { group, one, other } = watching(1)
  group.notify(one, IN_CREATE, 0, 'a')
  group.remove(other.wd)
  expect(masks(group)).toEqual([IN_CREATE, IN_Q_OVERFLOW])
  expect(group.wds).toEqual(new Set([one.wd]))
})

test('a barrier comes back as IN_IGNORED behind all that was queued, each with a number of its own that is no watch; an overflow swallows none', () => {
  const { group, one, other } = watching(1)
  const first = group.barrier()
  group.notify(one, IN_CREATE, 0, 'a')
  group.notify(other, IN_CREATE, 0, 'a')
  const second = group.barrier()
  expect(group.read().map(({ wd, mask }) => [wd, mask])).toEqual([
    [one.wd, IN_CREATE],
    [-1, IN_Q_OVERFLOW],
    [first, IN_IGNORED],
    [second, IN_IGNORED],
  ])
  expect(new Set([one.wd, other.wd, first, second]).size).toBe(4)
  expect(group.length).toBe(0)
})
