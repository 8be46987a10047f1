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

// Added to what the directory's watch asks for already: one inode has one, and it may be that of a tree.
const ANCESTOR = IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD
const NAMES = IN_CREATE | IN_DELETE | IN_MOVE | ANCESTOR

/** By what watches are added. */
export type Adding = Pick<InotifyInstance, 'add'>

/** The watches of a path's way, each with the name that the path leads over. */
export interface WatchedWay {
  watched: WatchedName[]
  /** Why it is not all of it: there are no more watches or, if it is not that, something may not be read. */
  refused: InotifyError | undefined
}

/** The same, and how many of the first of them have the last name of the path, or of where it leads. */
export interface WatchedWayToName extends WatchedWay {
  named: number
  /** The path of each of the names. */
  paths: readonly string[]
}

/**
 * Watches what decides what a path means: that no directory above it, or above a symlink on the way, is renamed, and no such link is replaced, of
 * which no event of the path itself tells. `withName`: nor what is at the path. What was watched before a watch was refused is among
 * the answer, or nobody would ever remove it.
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
    // It is renamed by nobody.
    if (directory === '/' && mask === ANCESTOR && !isMissing) continue
    // What is missing on the way may come.
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

/** The watches of the way to another name in the same directory, which are the same. */
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
 * Watches the file at the end of a path. undefined: there is none. What is a directory by now may be that of a tree: its mask stays.
 *
 * @param follows false: where there is a symlink, that one
 */
export function watchFile(path: string, inotify: Adding, follows = true): number | InotifyError | undefined {
  return tryToAdd(inotify, path, FILE_MASK | IN_MASK_ADD | (follows ? 0 : IN_DONT_FOLLOW))
}

/** Whether there are no more watches, or there is no memory for one. */
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

/** Where a path leads, over which symlinks, and what it leaves again. All of them are keys: see name_key.ts. */
export interface Way extends Pick<Resolved, 'realPath' | 'links' | 'left'> {
  readonly path: string
}

export async function wayOf(path: string, system: Pick<WatchSystem, 'followSymlinks'>): Promise<Way> {
  const resolved = await system.followSymlinks(path).catch(() => ({ realPath: path, links: [], left: [] }))
  return { path, ...resolved }
}

/** {@link wayOf} each of these. What they have in common is asked once. */
export async function waysOf(
  paths: readonly string[],
  system: Pick<WatchSystem, 'followTogether'>,
): Promise<Way[]> {
  const resolved = await system.followTogether(paths)
  return paths.map((path, i) => ({ path, ...(resolved[i] as Resolved) }))
}

// Who replaces something once more is told of by the watch that has been added meanwhile.
export const MOST_TIMES = 3

/** The symlinks on a way, and what it leaves again: from each, it goes on elsewhere. */
export function turnsOf({ links, left }: Way): string[] {
  return [...links.map((link) => link.path), ...left]
}

/** To see whether other directories are watched than before. */
export function keyOf(watched: readonly WatchedName[]): string {
  return watched.map(({ wd, name }) => `${wd}/${name}`).join('/')
}

/** All of a root is polled from now on, for want of a watch or an inotify instance. The answer: the error that says so. */
export function pollInstead(mount: WatchedMount, path: string, error: InotifyError): InotifyError {
  mount.backend = 'poll'
  mount.why = `polled for want of a watch (${error.code})`
  const limit = asWatchError(error, path) as InotifyError
  mount.limit = limit
  return limit
}
