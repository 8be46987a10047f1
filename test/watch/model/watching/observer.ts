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

/** What is to be watched, and how. It can be sent to another process. */
export interface WatchedRoots {
  roots: string[]
  /** What is there is told before `ready`. */
  initial: boolean
  settings: Settings
}

/** Of changes in the order in which they were reported, and when that was. */
export type Tell = (changes: Array<Change | Change<Buffer>>, at: number) => void

/** As much of a {@link Watcher} as the model test asks for. */
export interface Observer {
  readonly ready: Promise<void>
  sync(): Promise<void>
  close(): Promise<void>
}

export type Observe = (watched: WatchedRoots, tell: Tell) => Observer

/** The real one, where the settings want it. */
export const observe: Observe = (watched, tell) => {
  const { host: where } = watched.settings
  if (where === 'worker') return inWorker(watched, tell)
  if (where === 'process') return inProcess(watched, tell)
  return host({ Watcher, linux, Inotify }, watched, tell)
}

const mayLimitWatches = spawnSync('unshare', [...withWatches(1), 'true']).status === 0

/** Why there can be no watcher with these settings, if so. */
export function unobservable({ queue, host: where }: Pick<Settings, 'queue' | 'host'>): string | undefined {
  if (queue < 16384 && !mayLimitQueue) return 'may not set max_queued_events'
  if (where !== 'here' && !isBuilt) return `a ${where} needs dist`
  return where === 'process' && !mayLimitWatches ? 'few watches need unshare -Ur' : undefined
}

/**
 * An instance whose queue holds so many events, and that nobody empties while the loop of this thread is stuck: with the guard
 * thread, what is lost were up to the scheduler.
 */
export function narrowInotify(limit: number, options: InotifyOptions = {}): Inotify {
  return withQueueLimit(limit, () => new Inotify({ ...options, maxQueuedBytes: 0 }))
}
