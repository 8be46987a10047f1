import type { Entry } from '../scan/entry.ts'
import { isSameEntry } from '../tree/believed_entry.ts'
import { ByName } from '../tree/by_name.ts'
import type { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'

export interface Place {
  directory: Directory
  name: string
}

/** The first half of a rename: an entry that has left its name and may yet arrive at another. */
export interface PendingMove extends Place {
  cookie: number
  entry: Entry
  mask: number
  /**
   * True: the name is to be looked at if no arrival comes. One inode that is watched by several paths has left all of them at once, and its arrival is paired
   * with at most one of them; or the entry seems to have gone into itself, and what is known is out of date.
   */
  isInDoubt?: boolean
  /** The place from which the entry had come over another one here, by the directory's events just before: if it goes back, it may be an exchange. */
  cameFrom?: Place | undefined
}

/**
 * Entries that have left and not arrived. Each stays in the tree at its old name, since nothing has been reported of it yet: its move counts as long as it
 * stays. A handful as a rule, for the kernel queues the second half within a millisecond; but entries moved out of the tree stay until they are given
 * up, however many they are: so nothing here walks through all.
 */
export class PendingMoves {
  readonly #tree: Tree
  // One inode that is watched by two paths leaves both with one cookie.
  readonly #byCookie = new Map<number, PendingMove[]>()
  readonly #byPlace = new ByName<Directory, PendingMove>()

  constructor(tree: Tree) {
    this.#tree = tree
  }

  get isEmpty(): boolean {
    return this.#byPlace.size === 0
  }

  *[Symbol.iterator](): Iterator<PendingMove> {
    for (const [, moves] of this.#byPlace) yield* moves.values()
  }

  add(move: PendingMove): void {
    const { cookie, directory, name } = move
    const before = this.#byPlace.at(directory, name)
    if (before !== undefined) this.delete(before)
    this.#byPlace.put(directory, name, move)
    const halves = this.#byCookie.get(cookie)
    if (halves === undefined) this.#byCookie.set(cookie, [move])
    else {
      halves.push(move)
      for (const half of halves) half.isInDoubt = true
    }
  }

  of(cookie: number): PendingMove | undefined {
    return this.#byCookie.get(cookie)?.find((move) => this.counts(move))
  }

  /** Returns the move of the entry that is known at this name. */
  from(directory: Directory, name: string): PendingMove | undefined {
    const move = this.#byPlace.at(directory, name)
    return move !== undefined && this.counts(move) ? move : undefined
  }

  /** Returns the move of a directory, or of one that it lies in. undefined: the directory is where the tree has it. */
  above(directory: Directory): PendingMove | undefined {
    if (this.#byPlace.size === 0) return undefined
    for (let each: Directory = directory; each.parent !== undefined; each = each.parent) {
      const move = this.from(each.parent, each.name)
      if (move !== undefined) return move
    }
    return undefined
  }

  /** Returns true while the tree has the entry at the name that it left. */
  counts(move: PendingMove): boolean {
    const { directory, name, entry } = move
    if (this.#byPlace.at(directory, name) !== move) return false
    return this.#tree.isAttached(directory) && isSameEntry(this.#tree.entriesOf(directory).get(name), entry)
  }

  delete(move: PendingMove): void {
    const { cookie, directory, name } = move
    if (this.#byPlace.at(directory, name) === move) this.#byPlace.take(directory, name)
    const halves = this.#byCookie.get(cookie)?.filter((half) => half !== move) ?? []
    if (halves.length === 0) this.#byCookie.delete(cookie)
    else this.#byCookie.set(cookie, halves)
  }
}
