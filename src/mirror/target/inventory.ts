import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { sameAttributes, sameKey, type TargetNode } from '../plan/tree.ts'

/** What tells an inode from another. */
export interface Inode {
  readonly dev: bigint
  readonly ino: bigint
}

interface Known {
  readonly stat: FileStat
  /** Whether this is how the entry is in its place, and not what was made for it. */
  readonly isPlaced: boolean
}

/**
 * What tells an inode from a later one of the same number, which ext4 gives again at once: when it was made, where the file system says.
 */
export function identityOf({ ino, btimeNs }: FileStat): string {
  return `${ino}:${btimeNs}`
}

/**
 * Which inode the mirror has put at each path of the target. What has the name now may be somebody else's, who may write the target as
 * well: a mode that is changed or a tree that is removed by name alone would be theirs.
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

  /** Whether it is the inode that was put there, and not a later one of its number. */
  isSame(path: string, stat: FileStat): boolean {
    const known = this.#known.get(path)?.stat
    if (known === undefined || known.dev !== stat.dev || known.ino !== stat.ino) return false
    // Where the file system does not say, or not yet, when it was made, the number must do.
    return known.btimeNs === stat.btimeNs || known.btimeNs === 0n || stat.btimeNs === 0n
  }

  /** Whether it is the inode that was put there, with the content, owner and mode that it had. */
  holds(path: string, stat: FileStat): boolean {
    const known = this.#known.get(path)?.stat
    if (known === undefined || !this.isSame(path, stat) || !sameAttributes(known, stat)) return false
    return stat.isDirectory() || (known.size === stat.size && known.mtimeNs === stat.mtimeNs)
  }

  /**
   * Whether it is as it was put there; in a directory others may have made and removed entries since. What has been put there, and nobody could look at
   * then, is confirmed by this.
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
