import type { Entry } from '../scan/entry.ts'
import type { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'

/** An event that is told later. */
export interface HeldEvent {
  directory: Directory
  mask: number
  cookie: number
  name: string
}

/** The first half of a rename: what has left its name and may yet arrive at another. */
export interface PendingMove {
  cookie: number
  directory: Directory
  name: string
  entry: Entry
  mask: number
  /** What was told meanwhile of a directory on its way, or of one below it. */
  readonly held: HeldEvent[]
}

/**
 * What has left and not arrived. It stays where it is believed to be, since nothing has been told of it yet: a departure counts as long
 * as it does. A handful as a rule, for the kernel queues the second half within a millisecond; but as many as were moved out of the tree
 * where they have not been given up yet, so nothing here walks through them.
 */
export class PendingMoves {
  readonly #tree: Tree
  // One inode that is watched by two paths leaves both with one cookie.
  readonly #byCookie = new Map<number, PendingMove[]>()
  readonly #byEntry = new Map<Entry, PendingMove>()

  constructor(tree: Tree) {
    this.#tree = tree
  }

  get size(): number {
    return this.#byEntry.size
  }

  [Symbol.iterator](): Iterator<PendingMove> {
    return this.#byEntry.values()
  }

  add(pendingMove: PendingMove): void {
    const { cookie, entry } = pendingMove
    this.#byEntry.set(entry, pendingMove)
    const halves = this.#byCookie.get(cookie)
    if (halves === undefined) this.#byCookie.set(cookie, [pendingMove])
    else halves.push(pendingMove)
  }

  of(cookie: number): PendingMove | undefined {
    return this.#byCookie.get(cookie)?.find((pendingMove) => this.counts(pendingMove))
  }

  /** Of what is believed to be at this name. */
  from(directory: Directory, name: string): PendingMove | undefined {
    const entry = this.size === 0 ? undefined : this.#tree.entriesOf(directory).get(name)
    const pendingMove = entry && this.#byEntry.get(entry)
    return pendingMove !== undefined && this.counts(pendingMove) ? pendingMove : undefined
  }

  /** Of a directory, or of what it lies in; undefined: it is where it is believed to be. */
  above(directory: Directory): PendingMove | undefined {
    for (
      let each: Directory | undefined = this.size === 0 ? undefined : directory;
      each;
      each = each.parent
    ) {
      const pendingMove = this.#byEntry.get(each)
      if (pendingMove !== undefined && this.counts(pendingMove)) return pendingMove
    }
    return undefined
  }

  /** False: it has been told of otherwise. */
  counts(pendingMove: PendingMove): boolean {
    const { directory, name, entry } = pendingMove
    if (this.#byEntry.get(entry) !== pendingMove) return false
    return this.#tree.isAttached(directory) && this.#tree.entriesOf(directory).get(name) === entry
  }

  delete(pendingMove: PendingMove): void {
    const { cookie, entry } = pendingMove
    if (this.#byEntry.get(entry) === pendingMove) this.#byEntry.delete(entry)
    const halves = this.#byCookie.get(cookie)?.filter((half) => half !== pendingMove) ?? []
    if (halves.length === 0) this.#byCookie.delete(cookie)
    else this.#byCookie.set(cookie, halves)
  }
}
