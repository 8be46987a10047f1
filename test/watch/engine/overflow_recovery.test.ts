import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { InotifyError } from '../../../src/index.ts'
import { TaskQueue } from '../../../src/task_queue.ts'
import { systemClock } from '../../../src/watch/clock.ts'
import type { DiffOptions } from '../../../src/watch/diff/diff_options.ts'
import type { EngineContext } from '../../../src/watch/engine/context.ts'
import { OverflowRecovery } from '../../../src/watch/engine/overflow_recovery.ts'
import type { Change } from '../../../src/watch/report/change.ts'
import { Shortage } from '../../../src/watch/report/shortage.ts'
import { Root } from '../../../src/watch/roots/root.ts'
import type { RootFinding } from '../../../src/watch/scan/listing.ts'
import type { Directory } from '../../../src/watch/tree/directory.ts'
import { World } from '../events/translating.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Stubs in place of the rooms' objects, with only the members that are used. */
type Stubs = { [Room in keyof EngineContext]?: Partial<EngineContext[Room]> }

const shortage = () => new InotifyError({ errno: 'EAGAIN', syscall: 'walk' })

/** Returns a root that has lost events, and the changes. Each retry rejects with the next of `failures`. */
function overflown(failures: Error[], parts: Stubs = {}) {
  const { tree, translator, pending, root: top, mount } = new World()
  const root = new Root('/t')
  root.top = top
  root.appear()
  root.mount = mount
  const queue = new TaskQueue()
  const tries: number[] = []
  const since: number[] = []
  const told: Change[] = []
  const troubles: unknown[] = []
  const found = new Map<Directory, RootFinding>([
    [top, { error: 0, isShort: false, isGone: false, identity: '', ino: 0 }],
  ])
  const overflowRecovery = new OverflowRecovery({
    system: { clock: systemClock },
    queue,
    tree,
    translator,
    pending,
    rescan: {
      reconcile: async (_: unknown, options: DiffOptions) => {
        tries.push(Date.now())
        since.push(options.since)
        const failure = failures.shift()
        if (failure !== undefined) throw failure
        return { roots: found, unlisted: undefined }
      },
    },
    followUp: { list: async () => {} },
    rootMonitor: {
      review: async () => undefined,
      recoverFiles: async () => {},
      reattach: async () => {},
    },
    inotify: { kernelWatches: async () => undefined, retire: () => {} },
    forest: { standing: () => [root] },
    reporter: { report: (changes: Change[]) => told.push(...changes) },
    shortage: new Shortage({ trouble: (error) => troubles.push(error) }),
    ...parts,
  } as unknown as EngineContext)
  overflowRecovery.onOverflow()
  /** Returns the ms between the tries. */
  const waits = () => tries.slice(1).map((time, i) => time - (tries[i] as number))
  return {
    overflowRecovery,
    pending,
    queue,
    root,
    tries,
    waits,
    since,
    troubles,
    types: () => told.map(({ type }) => type),
  }
}

/** Runs timers until the promise is settled. */
async function done(promise: Promise<void>): Promise<void> {
  let isDone = false
  const settled = promise.finally(() => {
    isDone = true
  })
  settled.catch(() => {})
  for (let i = 0; i < 100 && !isDone; i++) await vi.advanceTimersToNextTimerAsync()
  await settled
}

test('what is short is said once, and it is tried again until it works', async () => {
  const { overflowRecovery, pending, root, waits, since, troubles, types } = overflown(
    Array.from({ length: 3 }, shortage),
  )
  const good = pending.consistentUntil
  const recovering = overflowRecovery.recover()
  await vi.advanceTimersByTimeAsync(1400)
  expect(types()).toEqual(['overflow'])
  expect(root.isOverflown).toBe(true)
  // A later consistentUntil would be wrong: the recovery is not over.
  pending.consistentUntil = Date.now()
  await done(recovering)
  expect(waits()).toEqual([500, 500, 500])
  expect(new Set(since).size).toBe(1)
  expect(since[0]).toBeLessThanOrEqual(good)
  expect(troubles).toMatchObject([{ code: 'EAGAIN' }])
  expect(types()).toEqual(['overflow', 'recovered'])
  expect(root.isOverflown).toBe(false)
})

test('a root that has come to be polled since is recovered with the others', async () => {
  const { overflowRecovery, root, types } = overflown([])
  for (const mount of root.mounts) mount.backend = 'poll'
  await done(overflowRecovery.recover())
  expect(types()).toEqual(['overflow', 'recovered'])
  expect(root.isOverflown).toBe(false)
})

test('the next overflow says it again', async () => {
  const failures = [shortage()]
  const { overflowRecovery, troubles, types } = overflown(failures)
  await done(overflowRecovery.recover())
  failures.push(shortage(), shortage())
  overflowRecovery.onOverflow()
  await done(overflowRecovery.recover())
  expect(troubles).toHaveLength(2)
  expect(types()).toEqual(['overflow', 'recovered', 'overflow', 'recovered'])
})

test('while it waits, other work goes on', async () => {
  const { overflowRecovery, queue, types } = overflown([shortage()])
  const recovering = overflowRecovery.recover()
  await vi.advanceTimersByTimeAsync(50)
  await queue.run(async () => {})
  expect(types()).toEqual(['overflow'])
  await done(recovering)
})

test('any other failure is one', async () => {
  const { overflowRecovery, tries, types } = overflown([new InotifyError({ errno: 'EIO', syscall: 'walk' })])
  await expect(overflowRecovery.recover()).rejects.toMatchObject({ code: 'EIO' })
  expect(tries).toHaveLength(1)
  expect(types()).toEqual(['overflow'])
})

test('stopped, it waits no more and does not try again', async () => {
  const { overflowRecovery, tries, types } = overflown([shortage(), shortage()])
  const recovering = overflowRecovery.recover()
  await vi.advanceTimersByTimeAsync(50)
  overflowRecovery.stop()
  await recovering
  expect(vi.getTimerCount()).toBe(0)
  expect(tries).toHaveLength(1)
  expect(types()).toEqual(['overflow'])
})

test('what nobody could look at is no recovery: whether roots are there, what is in one or below, which watches there are', async () => {
  const roots = [shortage()]
  const checkIdentity = async () => roots.shift()
  const first = overflown([], {
    rootMonitor: {
      review: checkIdentity,
      recoverFiles: async () => {},
      reattach: async () => {},
    },
  })
  await done(first.overflowRecovery.recover())
  expect(first.tries).toHaveLength(1)
  expect(first.waits()).toEqual([])
  expect(first.troubles).toHaveLength(1)
  expect(first.types()).toEqual(['overflow', 'recovered'])

  const findings = [{ error: -24, isShort: true, isGone: false, identity: '', ino: 0 }]
  const reconcile = async ([top]: readonly Directory[]) => ({
    roots: new Map([
      [
        top as Directory,
        findings.shift() ?? { error: 0, isShort: false, isGone: false, identity: '', ino: 0 },
      ],
    ]),
    unlisted: undefined,
  })
  const second = overflown([], { rescan: { reconcile } })
  await done(second.overflowRecovery.recover())
  expect(second.troubles).toMatchObject([{ code: 'EMFILE', path: '/t' }])
  expect(second.types()).toEqual(['overflow', 'recovered'])

  const unlisted = [shortage()]
  const reconcileAll = async () => ({ roots: new Map(), unlisted: unlisted.shift() })
  const below = overflown([], { rescan: { reconcile: reconcileAll } })
  await done(below.overflowRecovery.recover())
  expect(below.troubles).toHaveLength(1)
  expect(below.types()).toEqual(['overflow', 'recovered'])

  const watches = [shortage()]
  const kernelWatches = async () => {
    const failure = watches.shift()
    if (failure !== undefined) throw failure
    return undefined
  }
  const third = overflown([], { inotify: { kernelWatches } })
  await done(third.overflowRecovery.recover())
  expect(third.tries).toHaveLength(2)
  expect(third.types()).toEqual(['overflow', 'recovered'])
})

test.each([
  ['was removed while it was listed', { error: -2, isGone: true }],
  ['a disk could not give', { error: -5, isGone: false }],
])('a root that %s is no recovered one', async (_, finding) => {
  const reattached: string[][] = []
  const rootMonitor = {
    review: async () => undefined,
    recoverFiles: async () => {},
    reattach: async () => void reattached.push(types()),
  }
  const reconcile = async ([top]: readonly Directory[]) => ({
    roots: new Map([[top as Directory, { ...finding, isShort: false, identity: '', ino: 0 }]]),
    unlisted: undefined,
  })
  const { overflowRecovery, types } = overflown([], { rootMonitor, rescan: { reconcile } })
  await done(overflowRecovery.recover())
  expect(reattached).toEqual([['overflow']])
})

test('a root whose watch has gone since is lost afterwards', async () => {
  const reattached: string[][] = []
  const rootMonitor = {
    review: async () => undefined,
    recoverFiles: async () => {},
    reattach: async () => void reattached.push(types()),
  }
  const kernelWatches = async () => new Set<number>()
  const { overflowRecovery, types } = overflown([], {
    rootMonitor,
    inotify: { kernelWatches, retire: () => {} },
  })
  await done(overflowRecovery.recover())
  expect(reattached).toEqual([['overflow', 'recovered']])
})
