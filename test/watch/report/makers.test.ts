import { expect, test } from 'vitest'
import { InotifyError } from '../../../src/errors.ts'
import { IN_CLOSE_WRITE, IN_CREATE, IN_MODIFY, IN_Q_OVERFLOW } from '../../../src/index.ts'
import type { FanotifyEvent } from '../../../src/inotify/fanotify_source.ts'
import type { Change } from '../../../src/watch/report/change.ts'
import { Makers } from '../../../src/watch/report/makers.ts'
import { Reporter } from '../../../src/watch/report/reporter.ts'
import type { WatchSystem } from '../../../src/watch/system.ts'

const event = (path: string | undefined, pid: number, comm?: string): FanotifyEvent => ({
  path,
  mask: path === undefined ? IN_Q_OVERFLOW : IN_MODIFY,
  pid,
  comm,
})

/** Plays fanotify to makers that cover /r. */
function played() {
  const world = {
    now: 0,
    /** Read next. */
    queue: [] as FanotifyEvent[],
    /** The ends of symlinks. */
    real: {} as Record<string, string>,
    /** Thrown by `add`. */
    refusal: undefined as Error | undefined,
    fail: (_: Error): void => {},
    codes: [] as string[],
    opened: 0,
  }
  const openFanotify: WatchSystem['openFanotify'] = (take, fail) => {
    world.opened++
    world.fail = fail
    const add = (path: string) => {
      if (world.refusal !== undefined) throw world.refusal
      return world.real[path] ?? path
    }
    const read = () => {
      const events = world.queue.splice(0)
      take(events)
      return events.length > 0
    }
    return { add, read, close: () => void world.opened-- }
  }
  const clock = { now: () => 0, elapsed: () => world.now, cpu: () => 0, after: () => () => {} }
  const makers = new Makers({ clock, openFanotify }, (error) =>
    world.codes.push((error as InotifyError).code),
  )
  makers.cover('/r')
  /** Returns the maker of a change at a path. */
  const by = (path: string, more: object = {}) => {
    const change = {
      type: 'modify',
      path,
      kind: 'file',
      mask: IN_MODIFY,
      source: 'inotify',
      ...more,
    } as Change
    makers.sign([change])
    return 'by' in change ? change.by : undefined
  }
  return { world, makers, by, clock }
}

test('the last process of a path is told, with the name that it was seen with; of renames and exchanges by either path', () => {
  const { world, by } = played()
  world.queue = [event('/r/a', 1, 'one'), event('/r/a', 2, 'two'), event('/r/b', 3)]
  expect([by('/r/a'), by('/r/b'), by('/r/c')]).toEqual([{ pid: 2, comm: 'two' }, { pid: 3 }, undefined])
  // By now it has ended.
  world.queue = [event('/r/a', 2)]
  expect(by('/r/a')).toEqual({ pid: 2, comm: 'two' })
  expect(by('/r/x', { type: 'rename', from: '/r/b' })).toEqual({ pid: 3 })
  expect(by('/r/b', { type: 'rename', from: '/r/a' })).toEqual({ pid: 3 })
  expect(by('/r/x', { type: 'exchange', other: '/r/b' })).toEqual({ pid: 3 })
})

test('a save, which is one change, is by the last who wrote', () => {
  const { world, makers, clock } = played()
  const told: Change[] = []
  const listener = {
    changes: (changes: Change[]) => void told.push(...changes),
    trouble: () => {},
    broken: () => {},
    room: async () => {},
  }
  const reporter = new Reporter({ settle: undefined }, clock, listener, undefined, makers)
  for (const [pid, type, mask] of [
    [1, 'create', IN_CREATE],
    [2, 'modify', IN_CLOSE_WRITE],
  ] as const) {
    world.queue = [event('/r/n', pid)]
    reporter.report([{ type, path: '/r/n', kind: 'file', mask, source: 'inotify' }])
  }
  expect(told).toMatchObject([{ type: 'create', by: { pid: 2 } }])
})

test('paths that lead over symlinks are found by the real ones', () => {
  const { world, makers, by } = played()
  world.real = { '/link': '/r', '/r/in/link': '/else/where' }
  for (const path of Object.keys(world.real)) makers.cover(path)
  world.queue = [event('/r/a', 1), event('/else/where/a', 2)]
  expect([by('/link/a'), by('/r/in/link/a')]).toEqual([{ pid: 1 }, { pid: 2 }])
  world.real = {}
  makers.cover('/link')
  expect(by('/link/a')).toBeUndefined()
})

test('what is no event has none, nor what is older than 5 s, was lost, or has been pushed out', () => {
  const { world, by } = played()
  world.queue = [event('/r/a', 1), event('/r/b', 1)]
  for (const source of ['poll', 'rescan', 'snapshot']) expect(by('/r/a', { source })).toBeUndefined()
  expect(by('/r/a', { type: 'lost' })).toEqual({ pid: 1 })
  expect(by('/r/a', { type: 'overflow' })).toBeUndefined()
  world.now = 4999
  expect(by('/r/a')).toEqual({ pid: 1 })
  world.now = 5000
  expect(by('/r/a')).toBeUndefined()
  world.queue = [event('/r/a', 1), event(undefined, 0), event('/r/b', 2)]
  expect([by('/r/a'), by('/r/b')]).toEqual([undefined, { pid: 2 }])
  world.queue = Array.from({ length: 10_000 }, (_, i) => event(`/r/${i}`, 3))
  expect([by('/r/b'), by('/r/0')]).toEqual([undefined, { pid: 3 }])
})

test('each kind of error is told once, and the rest goes on; nothing is opened after the end', () => {
  const { world, makers, by } = played()
  for (const errno of ['EPERM', 'EPERM', 'ENODEV', 'EPERM', 'ENOENT'] as const) {
    world.refusal = new InotifyError({ errno, syscall: 'test' })
    makers.cover('/r')
  }
  expect(world.codes).toEqual(['EPERM', 'ENODEV'])
  // A process of another pid namespace has no number.
  world.queue = [event('/r/a', 0), event('/r/b', 1)]
  expect([by('/r/a'), by('/r/a'), by('/r/b')]).toEqual([undefined, undefined, { pid: 1 }])
  world.fail(new InotifyError({ errno: 'EIO', syscall: 'read' }))
  expect(world.codes).toEqual(['EPERM', 'ENODEV', 'ESRCH', 'EIO'])
  makers.cover('/r')
  expect(world.opened).toBe(0)
})
