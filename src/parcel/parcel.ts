import { opendir } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Change } from '../watch/report/change.ts'
import { Watcher } from '../watch/watcher.ts'
import { type Event, Events } from './events.ts'
import { ignoreOf } from './ignore.ts'
import { type SubscribeCallback, Subscription } from './subscription.ts'

export type { SubscribeCallback }

/** Options, as @parcel/watcher has them. */
export interface Options {
  /**
   * Paths, with everything below them; globs, and regular expressions of paths relative to the directory. Globs need the optional peers `is-glob` and `picomatch`.
   */
  ignore?: Array<string | RegExp>
  /** No effect: the source is chosen by mount. */
  backend?: BackendType
}
/** The names of backends, as @parcel/watcher has them. */
export type BackendType = 'fs-events' | 'watchman' | 'inotify' | 'windows' | 'brute-force'
/** A running subscription. */
export interface AsyncSubscription {
  /** Stops the subscription. */
  unsubscribe(): Promise<void>
}

const subscribed = new Map<SubscribeCallback, Map<string, Subscription>>()

/**
 * Calls `fn` with the changes below a directory, once the promise has resolved. The same arguments again are the same subscription, which the first unsubscribe() ends.
 * @throws InotifyError: ENOENT, ENOTDIR: no such directory; or it cannot be watched; or a glob of `ignore` cannot be matched, since an optional peer is missing
 */
export async function subscribe(
  dir: string,
  fn: SubscribeCallback,
  opts?: Options,
): Promise<AsyncSubscription> {
  const [directory, key] = [resolve(dir), keyOf(dir, opts)]
  const own = subscribed.get(fn) ?? new Map<string, Subscription>()
  subscribed.set(fn, own)
  const forget = () => own.get(key) === subscription && end(fn, key)
  const subscription = own.get(key) ?? new Subscription(open(directory, opts), fn, forget)
  own.set(key, subscription)
  try {
    await subscription.ready
  } catch (error) {
    forget()
    throw error
  }
  return { unsubscribe: async () => end(fn, key) }
}

/** Stops the subscription that {@link subscribe} has begun with the same arguments. */
export async function unsubscribe(dir: string, fn: SubscribeCallback, opts?: Options): Promise<void> {
  await end(fn, keyOf(dir, opts))
}

function end(fn: SubscribeCallback, key: string): Promise<void> | undefined {
  const subscription = subscribed.get(fn)?.get(key)
  subscribed.get(fn)?.delete(key)
  if (subscribed.get(fn)?.size === 0) subscribed.delete(fn)
  return subscription?.close()
}

/**
 * Writes a snapshot of a directory to a file, for {@link getEventsSince}. Resolves to the path of the file.
 * @throws InotifyError: the directory cannot be read, or the snapshot not be written
 */
export async function writeSnapshot(dir: string, snapshot: string, opts?: Options): Promise<string> {
  await using watcher = await open(dir, opts)
  await watcher.save(snapshot)
  return resolve(snapshot)
}

/**
 * Returns the changes since {@link writeSnapshot}.
 * @throws InotifyError: the snapshot cannot be compared: ENOENT (missing), EBADMSG (torn, or of another version), EXDEV (another filesystem), ENODATA (another directory)
 */
export async function getEventsSince(dir: string, snapshot: string, opts?: Options): Promise<Event[]> {
  await using watcher = await open(dir, opts, snapshot)
  const [batches, troubles]: [Change[][], Error[]] = [[], []]
  watcher.on('changes', (batch) => batches.push(batch)).on('error', (error) => troubles.push(error))
  await watcher.ready
  if (troubles.length > 0) throw troubles[0]
  return new Events(watcher).add(batches.flat()).take()
}

/** Starts a watcher. Rejects as opendir(3) fails: a watcher would wait for ever for a directory that is not there. */
async function open(dir: string, { ignore = [] }: Options = {}, since?: string): Promise<Watcher> {
  await (await opendir(dir)).close()
  const ignored = ignore.length > 0 && { ignore: await ignoreOf(resolve(dir), ignore) }
  return new Watcher(dir, {
    recursive: true,
    expand: true,
    settle: 0,
    ...ignored,
    ...(since !== undefined && { since }),
  })
}

const keyOf = (dir: string, { ignore = [] }: Options = {}) =>
  JSON.stringify([resolve(dir), ignore.map(String)])
