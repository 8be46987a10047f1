import { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { MAX_LINKS } from '../../mounts/syscalls/max_links.ts'
import { isTrusted, mayOthersRename } from '../../mounts/syscalls/ownership.ts'
import type { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'

/**
 * Returns true if only root and this user decide the target of an absolute path: in no directory on the way, also to the targets of
 * symlinks, can others give the next name to something else. A last name that is missing yet counts as well.
 */
export async function isTrustedWay(calls: SyscallThread, path: string): Promise<boolean> {
  let here = await DirectoryHandle.open(calls, '/')
  let links = 0
  try {
    const rest = path.split('/')
    for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
      if (name === '' || name === '.') continue
      const entry = name === '..' ? undefined : await here.lstat(name).catch(() => undefined)
      if (name !== '..' && !isKept(here.opened, entry)) return false
      if (entry === undefined && name !== '..') return rest.length === 0
      const isLink = entry?.isSymbolicLink() === true
      if (isLink && ++links > MAX_LINKS) return false
      if (isLink) rest.unshift(...entry.link.split('/'))
      if (isLink && !entry.link.startsWith('/')) continue
      const next = isLink
        ? await DirectoryHandle.open(calls, '/')
        : name === '..'
          ? await here.parent()
          : await here.directory(name)
      await here.close()
      here = next
    }
    return true
  } finally {
    await here.close()
  }
}

/** Returns true if only root and this user can give an entry's name to another. With a sticky bit its owner can, too: unlink(2). */
function isKept(directory: FileStat, entry: FileStat | undefined): boolean {
  if (mayOthersRename(directory)) return false
  return (directory.mode & 0o022n) === 0n || (entry !== undefined && isTrusted(entry))
}
