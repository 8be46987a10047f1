import { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'

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
