import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { sameKey } from '../../volume/read_file.ts'

/** Returns a text that tells an inode from a later one of the same number, which ext4 reuses at once: by its birth time, if the file system tells it. */
export function identityOf({ ino, btimeNs }: FileStat): string {
  return `${ino}:${btimeNs}`
}

/**
 * The inode that the mirror has made for an entry of the target. Another user who may write the target may have given the entry's name to
 * another: a chmod or a removal by name alone would hit that one.
 */
export class Placed {
  #stat: FileStat
  // False until the entry has been looked at in its place: rename(2) changes its ctime.
  #isSeen: boolean

  constructor(stat: FileStat, isSeen = false) {
    this.#stat = stat
    this.#isSeen = isSeen
  }

  get identity(): string {
    return identityOf(this.#stat)
  }

  /** Returns true for the very inode, and not a later one of its number. */
  isSame(stat: FileStat): boolean {
    const known = this.#stat
    if (known.dev !== stat.dev || known.ino !== stat.ino) return false
    // If the file system does not tell the birth time, or not yet, the number must do.
    return known.btimeNs === stat.btimeNs || known.btimeNs === 0n || stat.btimeNs === 0n
  }

  /** Returns true for the inode with unchanged content, owner and mode. */
  holds(stat: FileStat): boolean {
    const { mode, uid, gid, size, mtimeNs } = this.#stat
    if (!this.isSame(stat) || mode !== stat.mode || uid !== stat.uid || gid !== stat.gid) return false
    return stat.isDirectory() || (size === stat.size && mtimeNs === stat.mtimeNs)
  }

  /** Returns true if the entry is as the mirror made it; in a directory others may have made and removed entries since. */
  verify(stat: FileStat): boolean {
    if (!this.holds(stat)) return false
    if (this.#isSeen) return stat.isDirectory() || sameKey(this.#stat, stat)
    this.#stat = stat
    this.#isSeen = true
    return true
  }
}
