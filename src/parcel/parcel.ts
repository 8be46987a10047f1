import { resolve } from 'node:path'
import type { WatchOptions } from '../watch/options.ts'
import type { Change } from '../watch/report/change.ts'
import { type Watcher, watch } from '../watch/watcher.ts'
import { type Event, eventsOf } from './events.ts'
import { ignoreOf } from './ignore.ts'

/** As @parcel/watcher has them. */
export interface Options {
  /** Paths, from the directory on, with all below them; glob patterns and regular expressions of paths from the directory on. */
  ignore?: Array<string | RegExp>
  /** Is without effect: how changes are found is a matter of the mount. */
  backend?: BackendType
}
export type BackendType = 'fs-events' | 'watchman' | 'inotify' | 'windows' | 'brute-force'
export type SubscribeCallback = (error: Error | null, events: Event[]) => unknown

/** What {@link subscribe} gives. */
export interface AsyncSubscription {
  unsubscribe(): Promise<void>
}

const subscriptions = new Map<SubscribeCallback, Map<string, Watcher>>()

/**
 * Tells `fn` what changes below a directory, from the moment on when it resolves.
 *
 * @throws {TypeError} options that are none
 * @throws {InotifyError} ENOENT, ENOTDIR, EACCES ... as the directory cannot be watched
 */
export async function subscribe(
  dir: string,
  fn: SubscribeCallback,
  opts: Options = {},
): Promise<AsyncSubscription> {
  const key = keyOf(dir, opts)
  const watcher = open(dir, opts)
  watcher.on('changes', (changes) => {
    const events = eventsOf(changes)
    if (events.length > 0) fn(null, events)
  })
  await watcher.ready
  watcher.on('error', (error) => fn(error, []))
  const others = subscriptions.get(fn) ?? new Map<string, Watcher>()
  await others.get(key)?.close()
  subscriptions.set(fn, others.set(key, watcher))
  return { unsubscribe: () => unsubscribe(dir, fn, opts) }
}

/** Ends what {@link subscribe} has begun with the same arguments. */
export async function unsubscribe(dir: string, fn: SubscribeCallback, opts: Options = {}): Promise<void> {
  const key = keyOf(dir, opts)
  const watcher = subscriptions.get(fn)?.get(key)
  subscriptions.get(fn)?.delete(key)
  await watcher?.close()
}

/**
 * Writes down what is below a directory, for {@link getEventsSince}. Resolves to the path of the snapshot.
 *
 * @throws {InotifyError} as the directory cannot be read, or the snapshot not be written
 */
export async function writeSnapshot(dir: string, snapshot: string, opts: Options = {}): Promise<string> {
  await using watcher = open(dir, opts)
  await watcher.ready
  await watcher.save(snapshot)
  return resolve(snapshot)
}

/**
 * What has changed below a directory since {@link writeSnapshot}.
 *
 * @throws {InotifyError} ENOENT, EBADMSG, EXDEV, ENODATA: the snapshot is missing, torn, of another filesystem or directory
 */
export async function getEventsSince(dir: string, snapshot: string, opts: Options = {}): Promise<Event[]> {
  await using watcher = open(dir, { ...opts, since: snapshot })
  const changes: Change[] = []
  const errors: Error[] = []
  watcher.on('changes', (batch) => {
    for (const change of batch) changes.push(change)
  })
  watcher.on('error', (error) => errors.push(error))
  await watcher.ready
  // Of what has happened while it looked it was told by events.
  await watcher.sync()
  if (errors.length > 0) throw errors[0]
  return eventsOf(changes)
}

function open(dir: string, { ignore, since }: Options & { since?: string }): Watcher {
  const root = resolve(dir)
  const ignores = ignoreOf(root, ignore)
  const options: WatchOptions = { recursive: true, expand: true, persistent: true }
  if (ignores !== undefined) options.ignore = ignores
  if (since !== undefined) options.since = since
  return watch(root, options)
}

function keyOf(dir: string, { ignore = [] }: Options): string {
  return JSON.stringify([resolve(dir), ignore.map(String)])
}
