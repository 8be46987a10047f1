import type { Entry } from '../scan/entry.ts'
import { isSameEntry } from '../tree/believed_entry.ts'
import type { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { ByName } from './by_name.ts'

/** An event that is told later. */
export interface HeldEvent {
  directory: Directory
  mask: number
  cookie: number
  name: string
}

export interface Place {
  directory: Directory
  name: string
}

/** The first half of a rename: what has left its name and may yet arrive at another. */
export interface PendingMove extends Place {
  cookie: number
  entry: Entry
  mask: number
  /** One inode that is watched by several paths has left all of them at once: where it arrives, at most one of them is told to. */
  isShared?: boolean
  /** What was told meanwhile of a directory on its way, or of one below it: see {@link PendingMoves.hold}. */
  held: HeldEvent[]
  /** What has left this name had come over something there, from this place, by the events of the directory just before: if it goes back, it was an exchange perhaps. */
  cameFrom?: Place | undefined
}

const NONE: readonly HeldEvent[] = []

/**
 * What has left and not arrived. It stays where it is believed to be, since nothing has been told of it yet: a move counts as long
 * as it does. A handful as a rule, for the kernel queues the second half within a millisecond; but as many as were moved out of the tree
 * where they have not been given up yet, so nothing here walks through them.
 */
export class PendingMoves {
  readonly #tree: Tree
  // One inode that is watched by two paths leaves both with one cookie.
  readonly #byCookie = new Map<number, PendingMove[]>()
  readonly #byPlace = new ByName<PendingMove>()
  // Those that hold something back, one of thousands as a rule; and of which directories: there may be a hundred thousand events of each.
  readonly #holding = new Map<PendingMove, Set<Directory>>()
  #size = 0
  // What the tree was when takeFound() last went through them.
  #revision = 0

  constructor(tree: Tree) {
    this.#tree = tree
  }

  get size(): number {
    return this.#size
  }

  *[Symbol.iterator](): Iterator<PendingMove> {
    for (const [, moves] of this.#byPlace) yield* moves.values()
  }

  add(move: PendingMove): void {
    const { cookie, directory, name } = move
    const before = this.#byPlace.get(directory, name)
    if (before !== undefined) this.delete(before)
    this.#byPlace.set(directory, name, move)
    this.#size++
    const halves = this.#byCookie.get(cookie)
    if (halves === undefined) this.#byCookie.set(cookie, [move])
    else {
      halves.push(move)
      for (const half of halves) half.isShared = true
    }
  }

  of(cookie: number): PendingMove | undefined {
    return this.#byCookie.get(cookie)?.find((move) => this.counts(move))
  }

  /** Of what is believed to be at this name. */
  from(directory: Directory, name: string): PendingMove | undefined {
    const move = this.#byPlace.get(directory, name)
    return move !== undefined && this.counts(move) ? move : undefined
  }

  /** Of a directory, or of what it lies in; undefined: it is where it is believed to be. */
  above(directory: Directory): PendingMove | undefined {
    if (this.#size === 0) return undefined
    for (let each: Directory = directory; each.parent !== undefined; each = each.parent) {
      const move = this.from(each.parent, each.name)
      if (move !== undefined) return move
    }
    return undefined
  }

  /** An event of a directory on its way, or of one below it, is told later. */
  hold(move: PendingMove, event: HeldEvent): void {
    move.held.push(event)
    const directories = this.#holding.get(move)
    if (directories === undefined) this.#holding.set(move, new Set([event.directory]))
    else directories.add(event.directory)
  }

  /**
   * What was held back of directories that a listing has found elsewhere since, with all that they lie in or by themselves. What comes of them from now on
   * is told at once, and is newer: a file that was written, as is held back, goes by another name then.
   */
  takeFound(): readonly HeldEvent[] {
    if (this.#holding.size === 0 || this.#tree.revision === this.#revision) return NONE
    this.#revision = this.#tree.revision
    const found: HeldEvent[] = []
    for (const [move, directories] of this.#holding) {
      const elsewhere = new Set([...directories].filter((directory) => this.above(directory) !== move))
      if (elsewhere.size === 0) continue
      const left: HeldEvent[] = []
      for (const event of move.held) (elsewhere.has(event.directory) ? found : left).push(event)
      move.held = left
      for (const directory of elsewhere) directories.delete(directory)
      if (directories.size === 0) this.#holding.delete(move)
    }
    return found
  }

  /** True while what has left is believed to be at the name that it left. */
  counts(move: PendingMove): boolean {
    const { directory, name, entry } = move
    if (this.#byPlace.get(directory, name) !== move) return false
    return this.#tree.isAttached(directory) && isSameEntry(this.#tree.entriesOf(directory).get(name), entry)
  }

  delete(move: PendingMove): void {
    const { cookie, directory, name } = move
    this.#holding.delete(move)
    if (this.#byPlace.get(directory, name) === move) {
      this.#size--
      this.#byPlace.take(directory, name)
    }
    const halves = this.#byCookie.get(cookie)?.filter((half) => half !== move) ?? []
    if (halves.length === 0) this.#byCookie.delete(cookie)
    else this.#byCookie.set(cookie, halves)
  }
}
