import { basename, dirname } from 'node:path'
import {
  IN_CREATE,
  IN_DELETE,
  IN_MASK_ADD,
  IN_MOVE,
  IN_MOVE_SELF,
  IN_ONLYDIR,
} from '../../inotify/constants.ts'
import type { Resolved } from '../../mounts/syscalls/symlinks.ts'
import type { InotifyInstance } from '../inotify_instance.ts'
import { pathOf } from '../report/name_key.ts'
import { isAbsence, isLimit } from '../report/watch_error.ts'
import type { WatchSystem } from '../system.ts'
import type { WatchedName } from './path_watches.ts'

// Added to what the directory's watch asks for already: one inode has one, and it may be that of a tree.
const ANCESTOR = IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD
const NAMES = IN_CREATE | IN_DELETE | IN_MOVE | ANCESTOR

/**
 * Watches what decides what a path means: that no directory above it, or above a symlink on the way, is renamed, and no such link is replaced, of
 * which no event of the path itself tells. `withName`: nor what is at the path. The watches, each with the name that the path leads over;
 * those of directories that may not be read are left out. Throws InotifyError only if there are no more to be had.
 */
export function watchWays(
  { path, realPath, links }: Way,
  withName: boolean,
  inotify: InotifyInstance,
): WatchedName[] {
  const ends = [realPath, ...links.map((link) => link.path)]
  const masks = new Map<string, number>()
  for (const entry of withName ? [path, ...ends] : ends.slice(1)) masks.set(entry, NAMES)
  for (const end of ends) {
    for (let entry = end; dirname(entry) !== '/'; entry = dirname(entry)) {
      if (!masks.has(entry)) masks.set(entry, ANCESTOR)
    }
  }
  const watched: WatchedName[] = []
  const missing = new Set<string>()
  for (const [entry, mask] of masks) {
    const directory = dirname(entry)
    try {
      // What is missing on the way may come.
      const wd = inotify.add(pathOf(directory), missing.has(entry) ? NAMES : mask)
      watched.push({ wd, name: basename(entry) })
    } catch (error) {
      if (isLimit(error)) throw error
      if (isAbsence(error)) missing.add(directory)
    }
  }
  return watched
}

/** Where a path leads, and over which symlinks. All of them are keys: see name_key.ts. */
export interface Way {
  readonly path: string
  readonly realPath: string
  readonly links: Resolved['links']
}

export async function wayOf(path: string, system: Pick<WatchSystem, 'followSymlinks'>): Promise<Way> {
  const resolved = await system.followSymlinks(path).catch(() => ({ realPath: path, links: [] }))
  return { path, ...resolved }
}
