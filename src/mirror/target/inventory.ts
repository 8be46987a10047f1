import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { sameAttributes, sameKey, type TargetNode } from '../plan/tree.ts'

/** The numbers that tell an inode from another. */
export interface Inode {
  readonly dev: bigint
  readonly ino: bigint
}

interface Known {
  readonly stat: FileStat
  /** True: the stat is of the entry in its place, and not of the one that was made for it. */
  readonly isPlaced: boolean
}

/** Returns a text that tells an inode from a later one of the same number, which ext4 reuses at once: by its birth time, if the file system tells it. */
export function identityOf({ ino, btimeNs }: FileStat): string {
  return `${ino}:${btimeNs}`
}

/**
 * Knows the inode that the mirror has put at each path of the target. Another user who may write the target may have the name by now: a
 * chmod or a removal by name alone would hit that user's entry.
 */
export class Inventory {
  readonly #known = new Map<string, Known>()

  /** Notes what was made for a path, and is about to be put there. */
  note(path: string, stat: FileStat): void {
    this.#set(path, stat, false)
  }

  /**
   * Notes how an entry is that has been put in place. false if it is another by now, or not as it was made: but for the time of the last
   * change, rename(2) leaves all as it was.
   */
  confirm(path: string, stat: FileStat): boolean {
    if (!this.holds(path, stat)) return false
    this.#set(path, stat, true)
    return true
  }

  identityOf(path: string): string | undefined {
    const known = this.#known.get(path)
    return known && identityOf(known.stat)
  }

  /** Returns true for the inode that was put there, and not a later one of its number. */
  isSame(path: string, stat: FileStat): boolean {
    const known = this.#known.get(path)?.stat
    if (known === undefined || known.dev !== stat.dev || known.ino !== stat.ino) return false
    // If the file system does not tell the birth time, or not yet, the number must do.
    return known.btimeNs === stat.btimeNs || known.btimeNs === 0n || stat.btimeNs === 0n
  }

  /** Returns true for the inode that was put there, with unchanged content, owner and mode. */
  holds(path: string, stat: FileStat): boolean {
    const known = this.#known.get(path)?.stat
    if (known === undefined || !this.isSame(path, stat) || !sameAttributes(known, stat)) return false
    return stat.isDirectory() || (known.size === stat.size && known.mtimeNs === stat.mtimeNs)
  }

  /**
   * Returns true if the entry is as it was put there; in a directory others may have made and removed entries since. Also confirms an entry that nobody
   * could look at when it was put there.
   */
  verify(path: string, stat: FileStat): boolean {
    const known = this.#known.get(path)
    if (known?.isPlaced === false) return this.confirm(path, stat)
    if (known === undefined || !this.isSame(path, stat)) return false
    return stat.isDirectory() ? sameAttributes(known.stat, stat) : sameKey(known.stat, stat)
  }

  /** Forgets an entry and all beneath it. */
  forget(path: string, node: TargetNode): void {
    this.#known.delete(path)
    if (node.kind !== 'directory') return
    for (const [name, child] of node.entries) this.forget(`${path}/${name}`, child)
  }

  #set(path: string, stat: FileStat, isPlaced: boolean): void {
    this.#known.set(path, { stat, isPlaced })
  }
}
