import { basename, dirname } from 'node:path'
import { InotifyError } from '../../errors.ts'
import {
  IN_CREATE,
  IN_DELETE,
  IN_DONT_FOLLOW,
  IN_MASK_ADD,
  IN_MOVE,
  IN_MOVE_SELF,
  IN_ONLYDIR,
} from '../../inotify/constants.ts'
import type { Resolved } from '../../mounts/syscalls/symlinks.ts'
import { pathOf } from '../../name_key.ts'
import type { DiffContext } from '../diff/context.ts'
import { FILE_MASK } from '../events/watch_mask.ts'
import type { InotifyInstance } from '../inotify_instance.ts'
import { asWatchError, codeOf, isAbsence, isLimit } from '../report/watch_error.ts'
import type { WatchSystem } from '../system.ts'
import type { WatchedMount } from '../tree/directory.ts'
import type { WatchedName } from './path_watches.ts'

// IN_MASK_ADD: an inode has one watch, which may be that of a tree and must keep its mask.
const ANCESTOR = IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD
const NAMES = IN_CREATE | IN_DELETE | IN_MOVE | ANCESTOR

/** The instance that adds watches. */
export type Adding = Pick<InotifyInstance, 'add'>

/** A watched name that a path leads over. */
interface WatchedHop extends WatchedName {
  readonly path: string
}

/** The watches of a path's way. */
export interface WatchedWay {
  watched: readonly WatchedHop[]
  /** The reason why some are missing: no watches are left or, failing that, something may not be read. */
  refused: InotifyError | undefined
}

/**
 * Watches what decides where a path leads, and no event of its end tells: the renames of directories above the path, and above a symlink on the way, and the
 * replacement of each such link. `withName`: also of the entry at the path. Returns the watches added before a refusal, too, or nobody would ever remove them.
 */
export function watchWays(way: Way, withName: boolean, cache: PathWatchCache): WatchedWay {
  const { path, realPath } = way
  const turns = turnsOf(way)
  const hops = new Map<string, Hop>()
  for (const entry of withName ? [path, realPath, ...turns] : turns) hops.set(entry, cache.hop(entry, NAMES))
  for (const end of [realPath, ...turns])
    for (const hop of cache.upFrom(hops.has(end) ? dirname(end) : end))
      if (!hops.has(hop.path)) hops.set(hop.path, hop)
  const watched: WatchedHop[] = []
  let refused: InotifyError | undefined
  for (const { added } of hops.values()) {
    if (added instanceof InotifyError) {
      if (refused === undefined || (!isOutOfWatches(refused) && isOutOfWatches(added))) refused = added
    } else if (added !== undefined) watched.push(added)
  }
  return { watched, refused }
}

/** An entry that a path leads over, and the watch of its directory; undefined: that is missing. */
interface Hop {
  readonly path: string
  readonly added: WatchedHop | InotifyError | undefined
}

/** Adds each watch once: thousands of ways may have a directory in common. */
export class PathWatchCache {
  readonly #inotify: Adding
  readonly #wds = new Map<string, number | InotifyError | undefined>()
  readonly #upFrom = new Map<string, readonly Hop[]>()
  readonly #missing = new Set<string>()

  constructor(inotify: Adding) {
    this.#inotify = inotify
  }

  hop(path: string, mask: number): Hop {
    const directory = dirname(path)
    const key = `${mask} ${directory}`
    const added = this.#wds.has(key) ? this.#wds.get(key) : tryToAdd(this.#inotify, directory, mask)
    this.#wds.set(key, added)
    if (added === undefined) this.#missing.add(directory)
    return { path, added: typeof added === 'number' ? { path, wd: added, name: basename(path) } : added }
  }

  /** Returns the hops from an entry up: each may be renamed, and a missing one may come. */
  upFrom(path: string): readonly Hop[] {
    const isMissing = this.#missing.has(path)
    // The kernel refuses to rename '/'.
    if (path === '/' || (dirname(path) === '/' && !isMissing)) return []
    const key = `${isMissing} ${path}`
    const known = this.#upFrom.get(key)
    if (known !== undefined) return known
    const hops = [this.hop(path, isMissing ? NAMES : ANCESTOR), ...this.upFrom(dirname(path))]
    this.#upFrom.set(key, hops)
    return hops
  }
}

/**
 * Watches the file at the end of a path. undefined: there is none. A directory that is there by now may be of a tree: its mask stays.
 *
 * @param follows false: a symlink there is watched itself
 */
export function watchFile(path: string, inotify: Adding, follows = true): number | InotifyError | undefined {
  return tryToAdd(inotify, path, FILE_MASK | IN_MASK_ADD | (follows ? 0 : IN_DONT_FOLLOW))
}

/** Returns true if the kernel has no more watches, or no memory for one. */
export function isOutOfWatches(error: InotifyError): boolean {
  return isLimit(error) || codeOf(error) === 'ENOMEM'
}

function tryToAdd(inotify: Adding, path: string, mask: number): number | InotifyError | undefined {
  try {
    return inotify.add(pathOf(path), mask)
  } catch (error) {
    if (isAbsence(error)) return undefined
    if (error instanceof InotifyError) return error
    throw error
  }
}

/** The end of a path, the symlinks on it, and the names that a '..' leaves again. All are keys: see name_key.ts. */
export interface Way extends Pick<Resolved, 'realPath' | 'links' | 'left'> {
  readonly path: string
}

/** Resolves each path. Common parts are asked once. */
export async function waysOf(
  paths: readonly string[],
  system: Pick<WatchSystem, 'followTogether'>,
): Promise<Way[]> {
  const resolved = await system.followTogether(paths)
  return paths.map((path, i) => ({ path, ...(resolved[i] as Resolved) }))
}

/** Returns the places where a way goes on elsewhere: its symlinks, and the names that it leaves again. */
export function turnsOf({ links, left }: Way): string[] {
  return [...links.map((link) => link.path), ...left]
}

/** Returns a key of the watches, to see if other directories are watched than before. */
export function keyOf(watched: readonly WatchedName[]): string {
  return watched.map(({ wd, name }) => `${wd}/${name}`).join('/')
}

/** Has all of a root polled from now on, for want of a watch or an inotify instance, and says so. */
export function pollInstead(
  { watchShortage, reporter }: Pick<DiffContext, 'watchShortage' | 'reporter'>,
  mount: WatchedMount,
  path: string,
  error: InotifyError,
): void {
  mount.backend = 'poll'
  mount.why = `polled for want of a watch (${error.code})`
  const limit = asWatchError(error, path) as InotifyError
  mount.limit = limit
  if (isLimit(error)) watchShortage.note(limit)
  else reporter.trouble(limit)
}
