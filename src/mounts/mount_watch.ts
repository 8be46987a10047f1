import { keysOf } from '../name_key.ts'
import type { MountRow } from './mountinfo.ts'
import { WatchedTable } from './watched_table.ts'

// Otherwise each of hundreds of watchers would read the table at each mount.
let shared = new WatchedTable()

/**
 * Tells where something was mounted or unmounted: inotify does not (a filesystem over a watched directory, the end of a bind mount).
 * All of a thread share one descriptor, and each look at the table.
 */
export class MountWatch {
  readonly #changed: (points: string[], vacant: string[]) => void
  readonly #listener = (rows: readonly MountRow[]) => this.#compare(rows)
  #table: WatchedTable | undefined
  #isClosed = false
  #rows: readonly MountRow[] | undefined

  /** @param changed gets the mount points, as keys (see name_key.ts), and those of them on which nothing is mounted any more */
  constructor(changed: (points: string[], vacant: string[]) => void) {
    this.#changed = changed
  }

  /** Without /proc there is nothing to tell. Rejects with InotifyError, where there is no descriptor or no thread to be had. */
  async open(): Promise<void> {
    if (this.#table !== undefined || this.#isClosed) return
    if (!shared.isOpen) shared = new WatchedTable()
    const rows = shared.join(this.#listener)
    if (rows === false) return
    this.#table = shared
    this.#rows = rows
  }

  close(): void {
    this.#isClosed = true
    this.#table?.leave(this.#listener)
    this.#table = undefined
  }

  /** Returns the points (keys) of mounts of a part of a filesystem, as a single file's is; undefined: the table is not known. */
  partial(): string[] | undefined {
    return this.#rows && keysOfPoints(this.#rows.flatMap(({ root, point }) => (root === '/' ? [] : [point])))
  }

  /** Resolves when all that was mounted and unmounted before this call has been told. */
  async settled(): Promise<void> {
    await this.#table?.settled()
  }

  #compare(rows: readonly MountRow[]): void {
    if (rows === this.#rows) return
    const [before, after] = [pointsIn(this.#rows ?? rows), pointsIn(rows)]
    this.#rows = rows
    const came = [...after].filter(([id, point]) => before.get(id) !== point)
    const went = [...before].filter(([id, point]) => after.get(id) !== point)
    const points = new Set([...came, ...went].map(([, point]) => point))
    if (points.size === 0) return
    const mounted = new Set(after.values())
    const vacant = [...points].filter((point) => !mounted.has(point))
    this.#changed(keysOfPoints([...points]), keysOfPoints(vacant))
  }
}

/** @param points a byte each character */
function keysOfPoints(points: readonly string[]): string[] {
  return points.map((point) => keysOf(Buffer.from(point, 'latin1')))
}

/** By the ids of the mounts; a byte each character. */
function pointsIn(rows: readonly MountRow[]): Map<number, string> {
  return new Map(rows.map(({ id, point }) => [id, point]))
}
