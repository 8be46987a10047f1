import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import type { StatKey } from '../../mounts/syscalls/stat_watch.ts'
import { sameAttributes, sameKey, statKey, type TargetNode } from '../plan/tree.ts'

/** What tells an inode from another. */
export interface Inode {
  readonly dev: bigint
  readonly ino: bigint
}

interface Known extends Inode {
  readonly key: StatKey
  /** What a note tells of it. */
  readonly identity: string
  /** Whether the key is that of the entry in its place, and not of what was made for it. */
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
    return this.#known.get(path)?.identity
  }

  /** Whether it is the inode that was put there. */
  isSame(path: string, { dev, ino }: Inode): boolean {
    const known = this.#known.get(path)
    return known !== undefined && known.dev === dev && known.ino === ino
  }

  /** Whether it is the inode that was put there, with the content, owner and mode that it had. */
  holds(path: string, stat: FileStat): boolean {
    const key = this.#known.get(path)?.key
    const now = statKey(stat)
    if (key === undefined || !this.isSame(path, stat) || !sameAttributes(key, now)) return false
    return stat.isDirectory() || (key.size === now.size && key.mtimeNs === now.mtimeNs)
  }

  /** Whether it is as it was put there; in a directory others may have made and removed entries since. */
  isUntouched(path: string, stat: FileStat): boolean {
    const known = this.#known.get(path)
    if (known?.isPlaced !== true || !this.isSame(path, stat)) return false
    return stat.isDirectory() ? sameAttributes(statKey(stat), known.key) : sameKey(statKey(stat), known.key)
  }

  /** Forgets an entry and all beneath it. */
  forget(path: string, node: TargetNode): void {
    this.#known.delete(path)
    if (node.kind !== 'directory') return
    for (const [name, child] of node.entries) this.forget(`${path}/${name}`, child)
  }

  #set(path: string, stat: FileStat, isPlaced: boolean): void {
    const { dev, ino } = stat
    this.#known.set(path, { dev, ino, key: statKey(stat), identity: identityOf(stat), isPlaced })
  }
}
