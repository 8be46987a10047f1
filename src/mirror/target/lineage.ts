import { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { MAX_LINKS } from '../../mounts/syscalls/max_links.ts'
import { isTrusted, mayOthersRename } from '../../mounts/syscalls/ownership.ts'
import type { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'

/** The numbers that tell an inode from another. */
export type Inode = Pick<FileStat, 'dev' | 'ino'>

/** The place of a directory: it and all above it, and its real path; undefined if it has none in this mount namespace. */
export interface Lineage {
  readonly inodes: readonly Inode[]
  readonly path: string | undefined
}

export async function lineageOf(held: DirectoryHandle): Promise<Lineage> {
  const inodes: Inode[] = []
  let here = await held.descend('')
  try {
    for (;;) {
      const { dev, ino } = await here.stat()
      if (isSame(inodes.at(-1), { dev, ino })) return { inodes, path: await pathHere(held) }
      inodes.push({ dev, ino })
      const parent = await here.parent()
      await here.close()
      here = parent
    }
  } finally {
    await here.close()
  }
}

/**
 * Returns true if `inner` is `outer` or beneath it. Inodes see through symlinks and bind mounts of `outer`. A bind mount of something
 * inside it has other parents: for it the real paths are compared as well, and the scan looks out.
 */
export function isWithin(inner: Lineage, outer: Lineage): boolean {
  if (inner.path !== undefined && outer.path !== undefined)
    if (`${inner.path}/`.startsWith(outer.path === '/' ? '/' : `${outer.path}/`)) return true
  return inner.inodes.some((each) => isSame(each, outer.inodes[0]))
}

export function isSame(a: Inode | undefined, b: Inode | undefined): boolean {
  return a !== undefined && a.dev === b?.dev && a.ino === b.ino
}

/**
 * A directory's real path; undefined if it has none in this mount namespace. proc_pid_fd(5) shows one of another namespace by its
 * path there, where the same path here may well be the source itself.
 */
async function pathHere(held: DirectoryHandle): Promise<string | undefined> {
  try {
    const path = await held.realpath()
    await using here = await DirectoryHandle.open(held.calls, path)
    return isSame(await here.stat(), await held.stat()) ? path : undefined
  } catch {
    // Nothing here is called so.
    return undefined
  }
}

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
