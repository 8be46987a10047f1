import type { FileStat } from '../mounts/file_stat.ts'
import { type StatKey, sameAttributes, sameKey, statKey, type TargetNode } from './tree.ts'

/** What tells an inode from another. */
export interface Inode {
  readonly dev: bigint
  readonly ino: bigint
}

interface Known extends Inode {
  /** What it was when it was last looked at after it had been put in place; undefined until then. */
  key: StatKey | undefined
}

/**
 * Which inode the mirror has put at each path of the target. What has the name now may be somebody else's, who may write the target as
 * well: a mode that is changed or a tree that is removed by name alone would be theirs.
 */
export class Inventory {
  readonly #known = new Map<string, Known>()

  /** Notes what was made for a path, and is about to be put there. */
  note(path: string, { dev, ino }: Inode): void {
    this.#known.set(path, { dev, ino, key: undefined })
  }

  /** Notes how an entry is that has been put in place; false if it is another by now. */
  confirm(path: string, stat: FileStat): boolean {
    if (!this.isSame(path, stat)) return false
    this.#known.set(path, { dev: stat.dev, ino: stat.ino, key: statKey(stat) })
    return true
  }

  inodeOf(path: string): Inode | undefined {
    return this.#known.get(path)
  }

  /** Whether it is the inode that was put there. */
  isSame(path: string, { dev, ino }: Inode): boolean {
    const known = this.#known.get(path)
    return known !== undefined && known.dev === dev && known.ino === ino
  }

  /** Whether it is as it was put there; in a directory others may have made and removed entries since. */
  isUntouched(path: string, stat: FileStat): boolean {
    const key = this.#known.get(path)?.key
    if (key === undefined || !this.isSame(path, stat)) return false
    return stat.isDirectory() ? sameAttributes(statKey(stat), key) : sameKey(statKey(stat), key)
  }

  /** Forgets an entry and all beneath it. */
  forget(path: string, node: TargetNode): void {
    this.#known.delete(path)
    if (node.kind !== 'directory') return
    for (const [name, child] of node.entries) this.forget(`${path}/${name}`, child)
  }
}
