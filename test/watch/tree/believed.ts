import type { Kind } from '../../../src/index.ts'
import type { Entry, Stat } from '../../../src/watch/scan/entry.ts'

/** A name of which nothing is known but its inode number. */
export const entry = (kind: Kind, ino: number): Entry => ({ kind, ino })
export const file = (ino: number) => entry('file', ino)
export const folder = (ino: number) => entry('directory', ino)

export function stat(more: Partial<Stat> = {}): Stat {
  return {
    mode: 0o644,
    uid: 0,
    gid: 0,
    nlink: 1,
    size: 5,
    mtime: 100,
    ctime: 100,
    ctimeMs: 100,
    btimeMs: 100,
    ...more,
  }
}

/** A name that was looked at. Its times follow from its inode number, unless they are given. */
export function seen(kind: Kind, ino: number, more: Partial<Stat> = {}): Entry {
  const times = { mtime: 100 + ino, ctime: 100 + ino, btimeMs: 100 + ino }
  return { kind, ino, stat: stat({ ...times, ...more }) }
}
