import type { StatKey } from '../../mounts/syscalls/stat_watch.ts'
import { TWO_TICKS } from '../copy/stillness.ts'
import { type SourceNode, type SourceTree, sameKey } from '../plan/tree.ts'
import type { Snapshot } from './snapshot.ts'

const SECOND = 1_000_000_000n

/**
 * ms within which a change may leave a stat key as it was. A file system that keeps times by the second (ext4 with inodes of 128 bytes, sshfs) does
 * not say so: its ticks may be vfat's, of two seconds. The rest is for a tick that comes late.
 */
const COARSE_TICK = 2100

function tickOf({ mtimeNs, ctimeNs }: StatKey): number {
  return mtimeNs % SECOND === 0n && ctimeNs % SECOND === 0n ? COARSE_TICK : TWO_TICKS
}

/**
 * Knows the paths so new at a pass that another change may not show in their stat keys. A key is trusted by the pass that begins a tick after the
 * key was seen first. This process's clock counts, since a server's may be wrong.
 */
export class Doubts {
  #seen: Snapshot | undefined
  /** performance.now() at which each was seen first, by paths; '' is the source itself. */
  #since: ReadonlyMap<string, number> = new Map()

  /** True while any key is in doubt. */
  get any(): boolean {
    return this.#since.size > 0
  }

  /** True if the last pass found a `..data`. */
  get hadData(): boolean {
    return this.#seen?.data !== undefined
  }

  has(path: string): boolean {
    return this.#since.has(path)
  }

  /** Returns true if a directory, or an entry below it, is in doubt. */
  hasIn(path: string): boolean {
    for (const each of this.#since.keys()) if (each === path || each.startsWith(`${path}/`)) return true
    return false
  }

  /**
   * Notes the keys of a pass that has looked at all there is.
   *
   * @param began performance.now() before the pass
   * @param isUnread true: the entry could not be read, and stays in doubt
   */
  note(snapshot: Snapshot, began: number, isUnread: (path: string) => boolean): void {
    const found = new Map<string, number>()
    const now = performance.now()
    const note = (path: string, key: StatKey, had: StatKey | undefined, isFlatFile: boolean) => {
      const tick = tickOf(key)
      const since = had !== undefined && sameKey(had, key) ? this.#since.get(path) : now
      if (since === undefined) return
      // A flat file was read twice, so far apart.
      const isOver = began - since >= tick || (isFlatFile && tick === TWO_TICKS)
      if (!isOver || isUnread(path)) found.set(path, since)
    }
    const descend = (tree: SourceTree, had: SourceNode | undefined, above: string, isFlat: boolean) => {
      for (const [name, node] of tree.entries) {
        if (node.kind !== 'file' && node.kind !== 'directory') continue
        const path = above + name
        const before = had?.kind === 'directory' ? had.entries.get(name) : undefined
        const isBelowFlat = isFlat && path !== snapshot.data
        note(
          path,
          node.key,
          before?.kind === node.kind ? before.key : undefined,
          isBelowFlat && node.kind === 'file',
        )
        if (node.kind === 'directory') descend(node, before, `${path}/`, isBelowFlat)
      }
    }
    note('', snapshot.place, this.#seen?.place, false)
    descend(snapshot.tree, this.#seen?.tree, '', true)
    this.#seen = snapshot
    this.#since = found
  }
}
