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
import { FILE_MASK } from '../events/watch_mask.ts'
import type { InotifyInstance } from '../inotify_instance.ts'
import { asWatchError, codeOf, isAbsence, isLimit } from '../report/watch_error.ts'
import type { WatchSystem } from '../system.ts'
import type { WatchedMount } from '../tree/directory.ts'
import type { WatchedName } from './path_watches.ts'

// Added to the mask of the directory's watch: an inode has one watch, which may be that of a tree.
const ANCESTOR = IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD
const NAMES = IN_CREATE | IN_DELETE | IN_MOVE | ANCESTOR

/** The instance that adds watches. */
export type Adding = Pick<InotifyInstance, 'add'>

/** The watches of a path's way, each with the name that the path leads over. */
export interface WatchedWay {
  watched: WatchedName[]
  /** The reason why some are missing: no watches are left or, failing that, something may not be read. */
  refused: InotifyError | undefined
}

/** The watches, and how many of the first have the last name of the path, or of its end. */
export interface WatchedWayToName extends WatchedWay {
  named: number
  /** The paths of the names. */
  paths: readonly string[]
}

/**
 * Watches what decides where a path leads, and no event of its end tells: the renames of directories above the path, and above a symlink on the way, and the
 * replacement of each such link. `withName`: also of the entry at the path. Returns the watches added before a refusal, too, or nobody would ever remove them.
 */
export function watchWays(way: Way, withName: boolean, inotify: Adding): WatchedWayToName {
  const { path, realPath } = way
  const turns = turnsOf(way)
  const masks = new Map<string, number>()
  for (const entry of withName ? [path, realPath, ...turns] : turns) masks.set(entry, NAMES)
  for (const end of [realPath, ...turns]) {
    for (let entry = end; entry !== '/'; entry = dirname(entry)) {
      if (!masks.has(entry)) masks.set(entry, ANCESTOR)
    }
  }
  const watched: WatchedName[] = []
  const paths: string[] = []
  const missing = new Set<string>()
  let named = 0
  let refused: InotifyError | undefined
  for (const [entry, mask] of masks) {
    const directory = dirname(entry)
    const isMissing = missing.has(entry)
    // The kernel refuses to rename '/'.
    if (directory === '/' && mask === ANCESTOR && !isMissing) continue
    // A missing directory on the way may come.
    const added = tryToAdd(inotify, directory, isMissing ? NAMES : mask)
    if (added === undefined) missing.add(directory)
    else if (typeof added === 'number') {
      watched.push({ wd: added, name: basename(entry) })
      paths.push(entry)
      if (withName && (entry === path || entry === realPath)) named++
    } else if (refused === undefined || (!isOutOfWatches(refused) && isOutOfWatches(added))) refused = added
  }
  return { watched, paths, named, refused }
}

/** Returns the watches of the way to another name in the same directory, which has the same watches. */
export function renamed({ watched, named, refused }: WatchedWayToName, name: string): WatchedWay {
  return { watched: watched.map((each, i) => (i < named ? { wd: each.wd, name } : each)), refused }
}

/** Adds each watch once: thousands of ways may have a directory in common. */
export class PathWatchCache implements Adding {
  readonly #inotify: Adding
  readonly #added = new Map<string, number | InotifyError>()

  constructor(inotify: Adding) {
    this.#inotify = inotify
  }

  add(path: string | Buffer, mask: number): number {
    const key = `${mask} ${typeof path === 'string' ? path : path.toString('latin1')}`
    const added = this.#added.get(key) ?? this.#tryToAdd(path, mask)
    this.#added.set(key, added)
    if (typeof added === 'number') return added
    throw added
  }

  #tryToAdd(path: string | Buffer, mask: number): number | InotifyError {
    try {
      return this.#inotify.add(path, mask)
    } catch (error) {
      if (error instanceof InotifyError) return error
      throw error
    }
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

export async function wayOf(path: string, system: Pick<WatchSystem, 'followSymlinks'>): Promise<Way> {
  const resolved = await system.followSymlinks(path).catch(() => ({ realPath: path, links: [], left: [] }))
  return { path, ...resolved }
}

/** Resolves each path as {@link wayOf} does. Common parts are asked once. */
export async function waysOf(
  paths: readonly string[],
  system: Pick<WatchSystem, 'followTogether'>,
): Promise<Way[]> {
  const resolved = await system.followTogether(paths)
  return paths.map((path, i) => ({ path, ...(resolved[i] as Resolved) }))
}

// A replacement after that is told by the watch that has been added meanwhile.
export const MOST_TIMES = 3

/** Returns the places where a way goes on elsewhere: its symlinks, and the names that it leaves again. */
export function turnsOf({ links, left }: Way): string[] {
  return [...links.map((link) => link.path), ...left]
}

/** Returns a key of the watches, to see if other directories are watched than before. */
export function keyOf(watched: readonly WatchedName[]): string {
  return watched.map(({ wd, name }) => `${wd}/${name}`).join('/')
}

/** Has all of a root polled from now on, for want of a watch or an inotify instance. Returns the error that says so. */
export function pollInstead(mount: WatchedMount, path: string, error: InotifyError): InotifyError {
  mount.backend = 'poll'
  mount.why = `polled for want of a watch (${error.code})`
  const limit = asWatchError(error, path) as InotifyError
  mount.limit = limit
  return limit
}
