import { constants, Stats } from 'node:fs'
import type { Kind } from '../watch/report/change.ts'
import type { Stat } from '../watch/report/stat.ts'

const { S_IFREG: file, S_IFDIR: directory, S_IFLNK: symlink, S_IFIFO: other } = constants
const TYPES: Readonly<Record<Kind, number>> = { file, directory, symlink, other }

/** What is known of something as fs.Stats: isFile() and the like; and with its stat size, mode, ino, mtime and mtimeMs. Nobody is asked for more. */
export function statsOf(kind: Kind, stat?: Stat): Stats {
  const stats: Stats = Object.create(Stats.prototype)
  return Object.assign(stats, stat ? { ...stat, mtime: new Date(stat.mtimeMs + 0.5) } : { mode: TYPES[kind] })
}
