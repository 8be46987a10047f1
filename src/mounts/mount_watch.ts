import { MountTable } from './mount_table.ts'
import type { MountRow } from './mountinfo.ts'
import { WatchedTable } from './watched_table.ts'

// Otherwise each of hundreds of watchers would read the table at each mount.
let shared = new WatchedTable()

/**
 * Returns the mount table, which is empty without /proc. While a {@link MountWatch} is open, callers in one turn of the event loop share a read: to write
 * the table takes the kernel a millisecond for 1,000 mounts.
 */
export function mountTable(): MountTable {
  try {
    return shared.now()
  } catch {
    return new MountTable(Buffer.alloc(0))
  }
}

/**
 * Tells where something was mounted or unmounted: inotify does not (a filesystem over a watched directory, the end of a bind mount).
 * All of a thread share one descriptor, and each look at the table.
 */
export class MountWatch {
  readonly #changed: (points: string[], vacant: string[]) => void
  readonly #listener = (table: MountTable) => this.#compare(table)
  #watched: WatchedTable | undefined
  #isClosed = false
  #table: MountTable | undefined

  /** @param changed gets the mount points, as keys (see name_key.ts), and those of them on which nothing is mounted any more */
  constructor(changed: (points: string[], vacant: string[]) => void) {
    this.#changed = changed
  }

  /** Without /proc there is nothing to tell. Rejects with InotifyError, where there is no descriptor or no thread to be had. */
  async open(): Promise<void> {
    if (this.#watched !== undefined || this.#isClosed) return
    if (!shared.isOpen) shared = new WatchedTable()
    const table = shared.join(this.#listener)
    if (table === false) return
    this.#watched = shared
    this.#table = table
  }

  close(): void {
    this.#isClosed = true
    this.#watched?.leave(this.#listener)
    this.#watched = undefined
  }

  /**
   * Returns the points (keys) of mounts of a part of a filesystem, as a single file's is; undefined: the table is not known.
   *
   * @param isAnew true: the points as they are now, wherever directories above have been renamed to
   */
  partial(isAnew: boolean): string[] | undefined {
    let table = this.#table
    try {
      if (isAnew && this.#watched !== undefined) table = this.#watched.read()
    } catch {
      // The points that were known are better than none.
    }
    return table?.rows.flatMap(({ root, point }) => (root === '/' ? [] : [point]))
  }

  /** Resolves when all that was mounted and unmounted before this call has been told. */
  async settled(): Promise<void> {
    await this.#watched?.settled()
  }

  #compare(table: MountTable): void {
    const { rows } = this.#table ?? table
    this.#table = table
    if (rows === table.rows) return
    const [before, after] = [pointsIn(rows), pointsIn(table.rows)]
    const came = [...after].filter(([id, point]) => before.get(id) !== point)
    const went = [...before].filter(([id, point]) => after.get(id) !== point)
    const points = new Set([...came, ...went].map(([, point]) => point))
    if (points.size === 0) return
    const vacant = [...points].filter((point) => !table.points.has(point))
    this.#changed([...points], vacant)
  }
}

function pointsIn(rows: readonly MountRow[]): Map<number, string> {
  return new Map(rows.map(({ id, point }) => [id, point]))
}
