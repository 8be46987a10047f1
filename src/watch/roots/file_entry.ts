import type { BigIntStats, Stats } from 'node:fs'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import type { Kind } from '../report/change.ts'
import type { Entry } from '../scan/entry.ts'

/** Returns the entry of a stat; undefined: it is a directory. */
export function entryOf(stats: BigIntStats | FileStat, btimeNs: bigint): Entry | undefined {
  if (stats.isDirectory()) return undefined
  return {
    kind: kindOf(stats),
    ino: fold(stats.ino),
    stat: {
      mode: Number(stats.mode),
      uid: Number(stats.uid),
      gid: Number(stats.gid),
      nlink: Number(stats.nlink),
      size: Number(stats.size),
      mtime: fold(stats.mtimeNs),
      ctime: fold(stats.ctimeNs),
      ctimeMs: Number(stats.ctimeNs) / 1e6,
      btimeMs: Number(btimeNs / 1_000_000n),
    },
  }
}

export function kindOf(
  stats: Pick<Stats | BigIntStats | FileStat, 'isFile' | 'isDirectory' | 'isSymbolicLink'>,
): Kind {
  if (stats.isFile()) return 'file'
  if (stats.isDirectory()) return 'directory'
  return stats.isSymbolicLink() ? 'symlink' : 'other'
}

function fold(value: bigint): number {
  return Number(BigInt.asUintN(53, value ^ (BigInt.asUintN(64, value) >> 53n)))
}
