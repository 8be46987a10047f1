import { opendir } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Change } from '../watch/report/change.ts'
import { Watcher } from '../watch/watcher.ts'
import { type Event, eventsOf } from './events.ts'
import { ignoreOf } from './ignore.ts'

export interface Options {
  /** Paths, with all below them; glob patterns and regular expressions of paths as seen from the directory. */
  ignore?: Array<string | RegExp>
  /** Without effect: how changes are found is a matter of the mount. */
  backend?: BackendType
}
export type BackendType = 'fs-events' | 'watchman' | 'inotify' | 'windows' | 'brute-force'
export type SubscribeCallback = (error: Error | null, events: Event[]) => unknown
export interface AsyncSubscription {
  unsubscribe(): Promise<void>
}

const subscribed = new Map<SubscribeCallback, Map<string, Watcher>>()

/** Tells `fn` what changes below a directory once it has resolved. Rejects as there is no directory (ENOENT, ENOTDIR), or it cannot be watched. */
export async function subscribe(
  dir: string,
  fn: SubscribeCallback,
  opts?: Options,
): Promise<AsyncSubscription> {
  await unsubscribe(dir, fn, opts)
  const watcher = await open(dir, opts)
  subscribed.set(fn, (subscribed.get(fn) ?? new Map()).set(keyOf(dir, opts), watcher))
  watcher.on('changes', (changes) => {
    const events = eventsOf(changes)
    if (events.length > 0) fn(null, events)
  })
  await watcher.ready.catch((error) => unsubscribe(dir, fn, opts).then(() => Promise.reject(error)))
  watcher.on('error', (error) => fn(error, []))
  return { unsubscribe: () => unsubscribe(dir, fn, opts) }
}

/** Ends what {@link subscribe} has begun with the same arguments. */
export async function unsubscribe(dir: string, fn: SubscribeCallback, opts?: Options): Promise<void> {
  const watcher = subscribed.get(fn)?.get(keyOf(dir, opts))
  subscribed.get(fn)?.delete(keyOf(dir, opts))
  if (subscribed.get(fn)?.size === 0) subscribed.delete(fn)
  await watcher?.close()
}

/** Writes down what is below a directory. Rejects with InotifyError as that cannot be read, or the snapshot not be written. */
export async function writeSnapshot(dir: string, snapshot: string, opts?: Options): Promise<string> {
  await using watcher = await open(dir, opts)
  await watcher.save(snapshot)
  return resolve(snapshot)
}

/** What has changed since {@link writeSnapshot}. Rejects with InotifyError as the snapshot cannot be compared: ENOENT, EBADMSG, EXDEV, ENODATA. */
export async function getEventsSince(dir: string, snapshot: string, opts?: Options): Promise<Event[]> {
  await using watcher = await open(dir, opts, snapshot)
  const [batches, troubles]: [Change[][], Error[]] = [[], []]
  watcher.on('changes', (batch) => batches.push(batch)).on('error', (error) => troubles.push(error))
  await watcher.ready
  if (troubles.length > 0) throw troubles[0]
  return eventsOf(batches.flat())
}

/** Whoever names a directory that is not there would wait for it for ever. Rejects as opendir(3) fails. */
async function open(dir: string, { ignore = [] }: Options = {}, since?: string): Promise<Watcher> {
  await (await opendir(dir)).close()
  const ignored = ignore.length > 0 && { ignore: ignoreOf(resolve(dir), ignore) }
  return new Watcher(dir, {
    recursive: true,
    expand: true,
    ...ignored,
    ...(since !== undefined && { since }),
  })
}

const keyOf = (dir: string, { ignore = [] }: Options = {}) =>
  JSON.stringify([resolve(dir), ignore.map(String)])
