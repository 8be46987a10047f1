import { constants, lstatSync, Stats, statSync } from 'node:fs'
import type { Kind } from '../watch/report/change.ts'

const { S_IFREG: file, S_IFDIR: directory, S_IFLNK: symlink, S_IFIFO: other } = constants
const TYPES: Readonly<Record<Kind, number>> = { file, directory, symlink, other }

/** Returns fs.Stats that know the kind of an entry alone: isFile() and the like. No system call is made. */
export function statsOf(kind: Kind): Stats {
  const stats: Stats = Object.create(Stats.prototype)
  return Object.assign(stats, { mode: TYPES[kind] })
}

/**
 * Returns the fs.Stats of a path: with `follow`, of the end of a link, or of the link itself if it dangles. undefined: the entry is gone, or may not be looked at. The call waits for the answer: behind an
 * answer that comes later, events would be told in another order than they came in, or the next event of the path before its first.
 */
export function statsAt(path: string, follow: boolean): Stats | undefined {
  for (const look of follow ? [statSync, lstatSync] : [lstatSync]) {
    try {
      return look(path)
    } catch {}
  }
  return undefined
}
