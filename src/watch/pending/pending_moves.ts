import type { Entry } from '../scan/entry.ts'
import { isSameEntry } from '../tree/believed_entry.ts'
import type { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { ByName } from './by_name.ts'

/** An event held back, to be translated later. */
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

/** The first half of a rename: an entry that has left its name and may yet arrive at another. */
export interface PendingMove extends Place {
  cookie: number
  entry: Entry
  mask: number
  /** True: one inode that is watched by several paths has left all of them at once. Its arrival is paired with at most one of them. */
  isShared?: boolean
  /** The events that came meanwhile of a directory on its way, or of one below it: see {@link PendingMoves.hold}. */
  held: HeldEvent[]
  /** The place from which the entry had come over another one here, by the directory's events just before: if it goes back, it may be an exchange. */
  cameFrom?: Place | undefined
}

const NONE: readonly HeldEvent[] = []

/**
 * Entries that have left and not arrived. Each stays in the tree at its old name, since nothing has been reported of it yet: its move counts as long as it
 * stays. A handful as a rule, for the kernel queues the second half within a millisecond; but entries moved out of the tree stay until they are given
 * up, however many they are: so nothing here walks through all.
 */
export class PendingMoves {
  readonly #tree: Tree
  // One inode that is watched by two paths leaves both with one cookie.
  readonly #byCookie = new Map<number, PendingMove[]>()
  readonly #byPlace = new ByName<PendingMove>()
  // The moves that hold events back, one of thousands as a rule, with their directories: each may have 100,000 events.
  readonly #holding = new Map<PendingMove, Set<Directory>>()
  #size = 0
  // The tree's revision when takeFound() last went through them.
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

  /** Returns the move of the entry that is known at this name. */
  from(directory: Directory, name: string): PendingMove | undefined {
    const move = this.#byPlace.get(directory, name)
    return move !== undefined && this.counts(move) ? move : undefined
  }

  /** Returns the move of a directory, or of one that it lies in. undefined: the directory is where the tree has it. */
  above(directory: Directory): PendingMove | undefined {
    if (this.#size === 0) return undefined
    for (let each: Directory = directory; each.parent !== undefined; each = each.parent) {
      const move = this.from(each.parent, each.name)
      if (move !== undefined) return move
    }
    return undefined
  }

  /** Holds back an event of a directory on its way, or of one below it. */
  hold(move: PendingMove, event: HeldEvent): void {
    move.held.push(event)
    const directories = this.#holding.get(move)
    if (directories === undefined) this.#holding.set(move, new Set([event.directory]))
    else directories.add(event.directory)
  }

  /**
   * Takes the events held back of directories that a listing has found elsewhere since, by themselves or with one that they lie in. Later events of these are
   * translated at once: a file that was written, as an event held back says, may have another name by then.
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

  /** Returns true while the tree has the entry at the name that it left. */
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
