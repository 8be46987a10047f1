import { dirname } from 'node:path'
import {
  IN_CREATE,
  IN_DELETE,
  IN_MASK_ADD,
  IN_MOVE,
  IN_MOVE_SELF,
  IN_ONLYDIR,
} from '../../inotify/constants.ts'
import { isLimit } from '../report/watch_error.ts'
import type { InotifyInstance, WatchSystem } from '../system.ts'

// Added to what the directory's watch asks for already: one inode has one, and it may be that of a tree.
const ANCESTOR = IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD
const NAMES = IN_CREATE | IN_DELETE | IN_MOVE | ANCESTOR

/**
 * Watches what decides what a path means: that no directory above it is renamed, and no symlink on the way is replaced, of which no
 * event of the path itself tells. `withName`: nor what is at the path. The watches; those of directories that may not be read are
 * left out. Throws InotifyError only if there are no more to be had.
 */
export async function watchWays(
  path: string,
  withName: boolean,
  inotify: InotifyInstance,
  system: Pick<WatchSystem, 'followSymlinks'>,
): Promise<Set<number>> {
  const { realPath, linkDirectories } = await system.followSymlinks(path).catch(() => ({
    realPath: path,
    linkDirectories: [],
  }))
  const names = new Set(withName ? [dirname(path), ...linkDirectories, dirname(realPath)] : linkDirectories)
  const wds = new Set<number>()
  const add = (directory: string, mask: number) => {
    try {
      wds.add(inotify.add(directory, mask))
    } catch (error) {
      if (isLimit(error)) throw error
    }
  }
  for (const directory of names) add(directory, NAMES)
  for (let above = dirname(realPath); above !== '/'; above = dirname(above)) {
    if (!names.has(above)) add(above, ANCESTOR)
  }
  return wds
}
