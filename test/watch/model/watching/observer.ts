import { spawnSync } from 'node:child_process'
import { type Change, Inotify, type InotifyOptions } from '../../../../src/index.ts'
import { linux } from '../../../../src/watch/linux.ts'
import { Watcher } from '../../../../src/watch/watcher.ts'
import { isBuilt } from '../../child.ts'
import type { Settings } from '../settings.ts'
import { host } from './host.mjs'
import { mayLimitQueue, withQueueLimit } from './queue_limit.mjs'
import { inProcess, inWorker, withWatches } from './remote.ts'

export { mayLimitQueue } from './queue_limit.mjs'

/** The roots and their settings. Can be sent to another process. */
export interface WatchedRoots {
  roots: string[]
  /** Tells the entries that are there before `ready`. */
  initial: boolean
  settings: Settings
}

/** Takes changes in their order, and the time at which they were told. */
export type Tell = (changes: Array<Change | Change<Buffer>>, at: number) => void

/** The part of a {@link Watcher} that the model test uses. */
export interface Observer {
  readonly ready: Promise<void>
  sync(): Promise<void>
  close(): Promise<void>
}

export type Observe = (watched: WatchedRoots, tell: Tell) => Observer

/** Starts the real watcher, in the place that the settings name. */
export const observe: Observe = (watched, tell) => {
  const { host: where } = watched.settings
  if (where === 'worker') return inWorker(watched, tell)
  if (where === 'process') return inProcess(watched, tell)
  return host({ Watcher, linux, Inotify }, watched, tell)
}

const mayLimitWatches = spawnSync('unshare', [...withWatches(1), 'true']).status === 0

/** Returns the reason why no watcher can have these settings, or undefined. */
export function unobservable({ queue, host: where }: Pick<Settings, 'queue' | 'host'>): string | undefined {
  if (queue < 16384 && !mayLimitQueue) return 'may not set max_queued_events'
  if (where !== 'here' && !isBuilt) return `a ${where} needs dist`
  return where === 'process' && !mayLimitWatches ? 'few watches need unshare -Ur' : undefined
}

/**
 * Opens an instance with a queue of `limit` events. No guard thread empties the queue while this thread's
 * loop is stuck: else the scheduler would decide about lost events.
 */
export function narrowInotify(limit: number, options: InotifyOptions = {}): Inotify {
  return withQueueLimit(limit, () => new Inotify({ ...options, maxQueuedBytes: 0 }))
}
