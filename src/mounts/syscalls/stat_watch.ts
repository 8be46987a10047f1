import type { FileStat } from './file_stat.ts'

/** What tells one version of an inode from another. */
export type SentinelKey = Pick<
  FileStat,
  'ino' | 'mode' | 'uid' | 'gid' | 'size' | 'mtimeNs' | 'ctimeNs' | 'nlink'
>

/** Something that is looked at until its key is another: a descriptor, or a name in the directory that one refers to. */
export interface Sentinel {
  readonly fd: number
  /** '' is the descriptor itself. */
  readonly name: string
  /** Whether the name must be looked up anew each time. */
  readonly revalidate: boolean
  readonly key: SentinelKey
}

const HEAD = 8 + 8 * 8 + 4

/** As native/syscalls/stat_watch.h reads it. */
export function packVigil(sentinels: readonly Sentinel[]): Buffer {
  return Buffer.concat(sentinels.map(pack))
}

function pack({ fd, name, revalidate, key }: Sentinel): Buffer {
  const bytes = Buffer.from(`${name}\0`)
  const packed = Buffer.alloc(Math.ceil((HEAD + bytes.length) / 8) * 8)
  packed.writeInt32LE(fd, 0)
  packed.writeUInt32LE(Number(revalidate), 4)
  const { ino, mode, uid, gid, size, mtimeNs, ctimeNs, nlink } = key
  for (const [index, field] of [ino, mode, uid, gid, size, mtimeNs, ctimeNs, nlink].entries())
    packed.writeBigUInt64LE(field, 8 + 8 * index)
  packed.writeUInt32LE(bytes.length, HEAD - 4)
  bytes.copy(packed, HEAD)
  return packed
}
