import { constants } from 'node:os'
import { basename, dirname } from 'node:path'
import { CallError } from './call_error.ts'
import { DirectoryHandle, lookUpPath } from './directory_handle.ts'
import type { FileStat } from './file_stat.ts'
import { MAX_LINKS } from './max_links.ts'
import type { SyscallThread } from './syscall_thread.ts'

/** The target of a path: no symlink, unless the last name is not followed. */
export interface ResolvedPath {
  /** The target's directory, which the caller closes. */
  readonly parent: DirectoryHandle
  readonly name: string
  readonly stat: FileStat
  /** The symlinks that the last name led over. */
  readonly links: readonly FileStat[]
}

/**
 * Follows a path whose last name may be a symlink, to another (a key of a ConfigMap leads over two), each name on the way looked
 * up anew.
 */
export async function resolvePath(calls: SyscallThread, path: string): Promise<ResolvedPath> {
  await lookUpPath(calls, path)
  let parent = await DirectoryHandle.open(calls, dirname(path))
  let name = basename(path)
  const links: FileStat[] = []
  try {
    let stat = await parent.lstat(name)
    while (stat.isSymbolicLink()) {
      if (links.push(stat) > MAX_LINKS) throw new CallError(constants.errno.ELOOP, 'open')
      const to = stat.link
      const before = parent
      parent = await directoryOf(before, to)
      await before.close()
      name = basename(to)
      stat = await parent.lstat(name)
    }
    return { parent, name, stat, links }
  } catch (error) {
    await parent.close()
    throw error
  }
}

/** Resolves a path as {@link resolvePath}, but does not follow a symlink at the last name. */
export async function placeOfPath(calls: SyscallThread, path: string): Promise<ResolvedPath> {
  await lookUpPath(calls, dirname(path))
  const parent = await DirectoryHandle.open(calls, dirname(path))
  const name = basename(path)
  try {
    return { parent, name, stat: await parent.lstat(name), links: [] }
  } catch (error) {
    await parent.close()
    throw error
  }
}

/** Opens the directory of the target of a link in `from`. */
async function directoryOf(from: DirectoryHandle, to: string): Promise<DirectoryHandle> {
  const path = to.startsWith('/') ? dirname(to) : `${from.path}/${dirname(to)}`
  await lookUpPath(from.calls, path)
  return await DirectoryHandle.open(from.calls, path)
}
