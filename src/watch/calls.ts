import { invalidArgument, refuseUnknown } from '../errors.ts'
import { rootPaths, type WatchOptions } from './options.ts'
import type { Change } from './report/change.ts'
import { lookNow, Watcher, warnOfMistakes } from './watcher.ts'

/** A listener of any path type: the signatures say of which type the paths are. */
type Listener = (changes: never[]) => void

/** ms that a call may take for its first look: see {@link Patience}. */
const PATIENCE_MS = 50

/** As the other overload, without options. */
export function watch(paths: string | string[], listener: (changes: Change[]) => void): Watcher
/** As the other overload; the paths of changes are Buffers of the exact bytes. */
export function watch(
  paths: string | string[],
  options: WatchOptions & { encoding: 'buffer' },
  listener?: (changes: Array<Change<Buffer>>) => void,
): Watcher<Buffer>
/**
 * Watches one or more roots: directories (their entries, or with `recursive` everything below), files, and paths that do not exist yet, which are `restored` when they appear. The source is chosen by
 * mount: inotify where every change is delivered, polling where none is, both where others can change files unseen. Changes carry the path as it was given, made absolute.
 *
 * Changes made after the call are reported, in the same turn too, for everything that could be scanned within the call (up to 50 ms; 500 ms for the first thousand directories of a slow disk).
 * Await {@link Watcher.ready}: from then on all changes are.
 *
 * @param listener gets what 'changes' gives: an array of changes
 * @throws TypeError: a wrong argument or option, or an option that does not exist; problems with the paths reject {@link Watcher.ready}
 *
 * @example
 * ```js
 * import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
 * import { watch } from 'inotify-bridge'
 *
 * const directory = await mkdtemp('/tmp/example-')
 * const watcher = watch(directory, { recursive: true })
 * watcher.on('changes', (changes) => {
 *   for (const change of changes) console.log(change.type, change.path)
 * })
 * await watcher.ready
 *
 * await mkdir(`${directory}/new`)
 * await writeFile(`${directory}/new/a`, 'text')
 * await rename(`${directory}/new`, `${directory}/newer`)
 * await watcher.sync() // all of that has been reported now
 * await watcher.close()
 * await rm(directory, { recursive: true })
 * ```
 */
export function watch(
  paths: string | string[],
  options?: WatchOptions,
  listener?: (changes: Change[]) => void,
): Watcher
export function watch(
  paths: string | string[],
  options: WatchOptions | Listener = {},
  listener?: Listener,
): Watcher | Watcher<Buffer> {
  if (typeof options === 'function') return watch(paths, {}, options as (changes: Change[]) => void)
  if (listener !== undefined && typeof listener !== 'function')
    throw invalidArgument('listener', listener, 'a function')
  const watcher = new Watcher(paths, options)
  warnOfMistakes(watcher)
  if (listener !== undefined) watcher.on('changes', listener as (changes: Change[]) => void)
  lookNow(watcher, paths, PATIENCE_MS)
  return watcher
}

/**
 * Resolves when something is at a path, or at each of these paths at the same time: at once if it is there already. A writer may still be at work on a new file; a file that is written
 * beside and renamed, as by `replaceFile()`, is whole. Rejects with the signal's reason, and with an {@link InotifyError} as `ready` of {@link watch} does (EACCES).
 *
 * @throws TypeError: an argument or option of the wrong type or value, or an option that does not exist
 */
export async function waitFor(
  paths: string | string[],
  options: Pick<WatchOptions, 'signal' | 'backend' | 'interval'> = {},
): Promise<void> {
  refuseUnknown('options', options, ['signal', 'backend', 'interval'])
  const watcher = watch(paths, { ...options, settle: 0 })
  try {
    // Changes from here on wait for next().
    const changes = watcher[Symbol.asyncIterator]()
    await watcher.ready
    const areThere = () => rootPaths(paths).every((path) => watcher.has(path))
    // A path seen early may have gone before the last was seen, and a poll says so later: hence the sync().
    while (!areThere() || !(await watcher.sync().then(areThere)))
      if ((await changes.next()).done) throw options.signal?.reason
  } finally {
    await watcher.close()
  }
}
