import { pathOf } from '../../name_key.ts'
import type { FileStat } from './file_stat.ts'

/**
 * The fields that tell one version of an inode from another. ctime cannot be set by a program, so it catches a restored mtime; the
 * others catch what a coarse clock (4 ms on older hosts) lets pass. Compared with !=, never with "newer than".
 */
export type StatKey = Pick<
  FileStat,
  'ino' | 'mode' | 'uid' | 'gid' | 'size' | 'mtimeNs' | 'ctimeNs' | 'nlink'
>

/** Something that is looked at until its key is another: a descriptor, or a name in the directory that one refers to. */
export interface StatProbe {
  readonly fd: number
  /** '' is the descriptor itself. A key: see name_key.ts. */
  readonly name: string
  /** True if the name must be looked up anew each time. */
  readonly revalidate: boolean
  readonly key: StatKey
}

const HEAD = 8 + 8 * 8 + 4
const END = Buffer.from('\0')

/** As native/syscalls/stat_watch.h reads it. */
export function packStatWatch(probes: readonly StatProbe[]): Buffer {
  return Buffer.concat(probes.map(pack))
}

function pack({ fd, name, revalidate, key }: StatProbe): Buffer {
  const bytes = Buffer.concat([Buffer.from(pathOf(name)), END])
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
