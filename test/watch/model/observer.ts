import { readFileSync, writeFileSync } from 'node:fs'
import { type Change, Inotify, type InotifyOptions } from '../../../src/index.ts'
import { linux } from '../../../src/watch/linux.ts'
import { Watcher } from '../../../src/watch/watcher.ts'

/** As much of a {@link Watcher} as the model test asks for. */
export interface Observer {
  readonly ready: Promise<void>
  on(event: 'changes', listener: (changes: Change[]) => void): unknown
  sync(): Promise<void>
  close(): Promise<void>
}

export interface ObserverOptions {
  /** What is there is told before `ready`. */
  initial: boolean
  /** fs.inotify.max_queued_events. */
  queue: number
}

export type Observe = (root: string, options: ObserverOptions) => Observer

/** The queue that the model's rounds have to overflow. */
export const NARROWEST = 16

const LIMIT = '/proc/sys/fs/inotify/max_queued_events'

export const mayLimitQueue = (() => {
  try {
    writeFileSync(LIMIT, readFileSync(LIMIT))
    return true
  } catch {
    return false
  }
})()

/** The kernel reads the limit when an instance is made: for so long it is another, for everybody. */
export function withQueueLimit<T>(limit: number, make: () => T): T {
  if (!mayLimitQueue) return make()
  const before = readFileSync(LIMIT)
  try {
    writeFileSync(LIMIT, String(limit))
    return make()
  } finally {
    writeFileSync(LIMIT, before)
  }
}

/**
 * An instance whose queue holds so many events, and that nobody empties while the loop of this thread is stuck: with the guard
 * thread, what is lost were up to the scheduler.
 */
export function narrowInotify(limit: number, options: InotifyOptions = {}): Inotify {
  return withQueueLimit(limit, () => new Inotify({ ...options, maxQueuedBytes: 0 }))
}

/** The smallest queue is to overflow, whoever gets the processor; the others have their guard thread. */
function openWith(queue: number, options: InotifyOptions): Inotify {
  return queue === NARROWEST
    ? narrowInotify(queue, options)
    : withQueueLimit(queue, () => new Inotify(options))
}

/** The real one. */
export const watchTree: Observe = (root, { initial, queue }) =>
  new Watcher(
    root,
    { recursive: true, initial, backend: 'inotify' },
    { ...linux, openInotify: (options) => openWith(queue, options) },
  )
