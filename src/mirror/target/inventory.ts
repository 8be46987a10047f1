import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { sameKey } from '../../volume/read_file.ts'
import { sameAttributes } from '../plan/tree.ts'

/** The numbers that tell an inode from another. */
export interface Inode {
  readonly dev: bigint
  readonly ino: bigint
}

/** Returns a text that tells an inode from a later one of the same number, which ext4 reuses at once: by its birth time, if the file system tells it. */
export function identityOf({ ino, btimeNs }: FileStat): string {
  return `${ino}:${btimeNs}`
}

/**
 * An entry that the mirror has made for the target, and all beneath it. Another user who may write the target may have given its name to
 * another: a chmod or a removal by name alone would hit that one.
 */
export class Placed {
  readonly entries: Map<string, Placed>
  #stat: FileStat
  // False until the entry has been looked at in its place: rename(2) changes its ctime.
  #isSeen: boolean

  constructor(stat: FileStat, entries: Map<string, Placed> = new Map(), isSeen = false) {
    this.entries = entries
    this.#stat = stat
    this.#isSeen = isSeen
  }

  get identity(): string {
    return identityOf(this.#stat)
  }

  /** Returns the entry at a path beneath this one; undefined if the mirror has put none there. */
  at(path: string): Placed | undefined {
    let here: Placed | undefined = this
    for (const name of path.split('/')) here = here?.entries.get(name)
    return here
  }

  /** Notes what is at a path beneath this one from now on; undefined for nothing of the mirror's. */
  set(path: string, placed: Placed | undefined): void {
    const end = path.lastIndexOf('/')
    const above = end === -1 ? this : this.at(path.slice(0, end))
    if (placed === undefined) above?.entries.delete(path.slice(end + 1))
    else above?.entries.set(path.slice(end + 1), placed)
  }

  /** Notes how the mirror has changed the entry. */
  note(stat: FileStat): void {
    this.#stat = stat
    this.#isSeen = false
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
    if (!this.isSame(stat) || !sameAttributes(this.#stat, stat)) return false
    return stat.isDirectory() || (this.#stat.size === stat.size && this.#stat.mtimeNs === stat.mtimeNs)
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
