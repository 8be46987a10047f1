// Runs a watcher with a round's settings, of either build of the library: in the test's thread, in a worker,
// or in a process of its own.
import { setTimeout as sleep } from 'node:timers/promises'
import { ignoreOption } from './ignore_rules.mjs'
import { withQueueLimit } from './queue_limit.mjs'

/** @typedef {import('../../../../src/index.ts').Change} Change */
/** @typedef {import('../../../../src/index.ts').Change<Buffer>} ChangeOfBytes */
/** @typedef {import('./observer.ts').Observer} Observer */
/** @typedef {import('./observer.ts').WatchedRoots} WatchedRoots */
/** @typedef {import('./observer.ts').Tell} Tell */
/**
 * The part of the library that is used.
 *
 * @typedef {Object} Library
 * @property {typeof import('../../../../src/watch/watcher.ts').Watcher} Watcher
 * @property {typeof import('../../../../src/watch/linux.ts').linux} linux
 * @property {typeof import('../../../../src/index.ts').Inotify} Inotify
 */

// Queues up to this size overflow on purpose, and have no guard thread: whether that thread empties the queue
// in time would be up to the scheduler.
const UNGUARDED = 64
// The ms that a slow consumer takes for an array of changes.
const SLOWNESS = 5

/**
 * @param {Library} library
 * @param {WatchedRoots} watched
 * @param {Tell} tell
 * @returns {Observer}
 */
export function host({ Watcher, linux, Inotify }, { roots, initial, settings }, tell) {
  const { queue, source, entryCache, followSymlinks, interval, hash, encoding } = settings
  const settle = settings.settle === 'save' ? {} : { settle: settings.settle }
  const system = {
    ...linux,
    choose: async () => ({ backend: source, why: 'a test' }),
    entryCacheSize: entryCache || linux.entryCacheSize,
    openInotify: (/** @type {object} */ options) =>
      withQueueLimit(
        queue,
        () => new Inotify(queue > UNGUARDED ? options : { ...options, maxQueuedBytes: 0 }),
      ),
  }
  const ignore = ignoreOption(settings.ignore, /** @type {string} */ (roots[0]))
  const polls = settings.budget > 0 ? { interval, pollBudget: { requests: settings.budget } } : { interval }
  const limit = settings.maxWatches > 0 ? { maxWatches: settings.maxWatches } : {}
  const options = {
    recursive: true,
    initial,
    followSymlinks,
    ...settle,
    ...polls,
    ...limit,
    hash,
    encoding,
    ignore,
  }
  const watcher = new Watcher(roots, options, system)
  // A lack of watches is told as an error, and is no failure.
  watcher.on('error', () => {})
  const said = (/** @type {Array<Change | ChangeOfBytes>} */ changes) => tell(changes, Date.now())
  return settings.consumer === 'slow' ? slow(watcher, said) : quick(watcher, said)
}

/**
 * @param {import('../../../../src/watch/watcher.ts').Watcher} watcher
 * @param {(changes: Array<Change | ChangeOfBytes>) => void} said
 * @returns {Observer}
 */
function quick(watcher, said) {
  watcher.on('changes', said)
  return { ready: watcher.ready, sync: () => watcher.sync(), close: () => watcher.close() }
}

/**
 * Runs an iterator that lags behind until sync() is called.
 *
 * @param {import('../../../../src/watch/watcher.ts').Watcher} watcher
 * @param {(changes: Array<Change | ChangeOfBytes>) => void} said
 * @returns {Observer}
 */
function slow(watcher, said) {
  // The numbers of changes.
  let [reported, taken] = [0, 0]
  let hurried = 0
  // Several callers may wait in sync() at once.
  /** @type {Array<() => void>} */
  const waiting = []
  watcher.on('changes', ({ length }) => {
    reported += length
  })
  const lagging = (async () => {
    for await (const changes of watcher) {
      said(changes)
      // One array holds all changes that waited.
      taken += changes.length
      if (hurried === 0) await sleep(SLOWNESS)
      if (taken >= reported) for (const resolve of waiting.splice(0)) resolve()
    }
  })()
  return {
    ready: watcher.ready,
    async sync() {
      hurried++
      await watcher.sync()
      // 'changes' are emitted after changes that were queued before.
      await new Promise((resolve) => setImmediate(resolve))
      while (taken < reported) await new Promise((resolve) => waiting.push(() => resolve(undefined)))
      hurried--
    },
    async close() {
      await watcher.close()
      await lagging
    },
  }
}

/**
 * Returns a change with paths as text, a latin1 character for each byte.
 *
 * @param {Change | ChangeOfBytes} change
 * @returns {Change}
 */
export function asText(change) {
  if (typeof change.path === 'string') return /** @type {Change} */ (change)
  const names = Object.entries(change).filter(([, value]) => value instanceof Uint8Array)
  const texts = names.map(([name, value]) => [name, Buffer.from(value).toString('latin1')])
  return { ...change, ...Object.fromEntries(texts) }
}
