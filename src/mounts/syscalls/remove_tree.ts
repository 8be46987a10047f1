import { constants } from 'node:os'
import { CallError, codeOf } from './call_error.ts'
import { atOnce } from './concurrency.ts'
import type { DirectoryHandle } from './directory_handle.ts'
import type { FileStat } from './file_stat.ts'
import { AT_REMOVEDIR } from './syscall_thread.ts'

/** A directory on the way down, whose subdirectories are not all removed yet. */
interface Level {
  readonly at: FileStat
  /** Its subdirectories; the last one is the one that is being emptied. */
  readonly directories: Buffer[]
}

/**
 * Removes an entry and all beneath it; symlinks are removed, not followed. It need not exist. EBUSY for a mount point.
 *
 * @param isMeant decides by what a descriptor shows, where others may give the name to something of theirs: what is not meant stays
 */
export async function removeTree(
  parent: DirectoryHandle,
  name: string | Buffer,
  isMeant?: (stat: FileStat) => boolean,
): Promise<void> {
  const { calls } = parent
  try {
    if (isMeant !== undefined && !isMeant(await parent.lstat(name))) return
    await calls.unlink(parent.at(name))
    return
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    if (codeOf(error) !== 'EISDIR') throw error
  }
  {
    await using held = await parent.directory(name)
    if (isMeant !== undefined && !isMeant(held.opened)) return
    if (!isOnMountOf(held.opened, parent.opened)) throw new CallError(constants.errno.EBUSY, 'unlink')
    await emptyDirectory(held)
  }
  // If another directory has taken the name since, rmdir(2) removes it only if it is empty.
  await calls.unlink(parent.at(name), AT_REMOVEDIR)
}

/**
 * Removes all entries of a directory, however deep. Holds one descriptor beside `root`: one a level would be EMFILE in a chain of a few
 * thousand directories. So the way up is `..`. It must be the directory that was left, since somebody may have moved the lower one
 * elsewhere meanwhile.
 */
export async function emptyDirectory(root: DirectoryHandle): Promise<void> {
  const levels: Level[] = []
  let here = root
  try {
    levels.push(await unlinkAll(here))
    for (;;) {
      const level = levels.at(-1) as Level
      const next = level.directories.at(-1)
      if (next !== undefined) {
        const below = await here.directory(next)
        if (here !== root) await here.close()
        here = below
        // A mount must not be emptied: rmdir(2) would refuse it only afterwards.
        if (!isOnMountOf(here.opened, root.opened)) throw new CallError(constants.errno.EBUSY, 'unlink')
        levels.push(await unlinkAll(here))
        continue
      }
      levels.pop()
      const above = levels.at(-1)
      if (above === undefined) return
      const parent = await climb(here, above)
      await here.close()
      here = parent
      await here.calls.unlink(here.at(above.directories.pop() as Buffer), AT_REMOVEDIR)
    }
  } finally {
    if (here !== root) await here.close()
  }
}

async function unlinkAll(here: DirectoryHandle): Promise<Level> {
  const directories: Buffer[] = []
  await atOnce(await here.names(), async (name) => {
    try {
      await here.calls.unlink(here.at(name))
    } catch (error) {
      if (codeOf(error) === 'EISDIR') directories.push(name)
      else if (codeOf(error) !== 'ENOENT') throw error
    }
  })
  return { at: here.opened, directories }
}

async function climb(here: DirectoryHandle, { at }: Level): Promise<DirectoryHandle> {
  const parent = await here.parent()
  if (parent.opened.dev === at.dev && parent.opened.ino === at.ino) return parent
  await parent.close()
  throw new CallError(constants.errno.EBUSY, 'unlink')
}

/** Compares mounts, and devices where the kernel does not tell mounts apart (before 5.8). */
function isOnMountOf(one: FileStat, other: FileStat): boolean {
  return one.mount === 0n ? one.dev === other.dev : one.mount === other.mount
}
