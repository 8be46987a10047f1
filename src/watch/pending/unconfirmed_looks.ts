import { alterationOfMoved, type Entry, mayBeSame } from '../scan/entry.ts'
import { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'

/** What was believed of a name before a look, and the inode number that the look has found there. */
interface Unconfirmed {
  readonly before: Entry
  readonly ino: number
}

/**
 * What looks have shown ahead of the events that tell it. Where a poll looks as well it is believed at once, or the poll would tell what the event is
 * yet to tell. But an overflow may swallow the event, and what is believed already no rescan finds. So what was believed before the look is kept
 * until a mark behind it has been met.
 */
export class UnconfirmedLooks {
  readonly #tree: Tree
  readonly #names = new Map<Directory, Map<string, Unconfirmed>>()

  constructor(tree: Tree) {
    this.#tree = tree
  }

  /** A look has shown of a name what no event has told: it is, or is about to be, believed in place of `before`. */
  note(directory: Directory, name: string, before: Entry, seen: Entry): void {
    if (before instanceof Directory || seen.kind === 'directory') return
    if (mayBeSame(before, seen) && alterationOfMoved(before, seen) === undefined) return
    const { kind, ino, stat } = before
    // The first knows what was told.
    const known = this.#names.get(directory)?.get(name)
    this.put(directory, name, { before: known?.before ?? { kind, ino, stat }, ino: seen.ino })
  }

  /** What is kept of a name of which has been told that it holds something else, or that it was left: that is to be {@link put} where it arrives. */
  take(directory: Directory, name: string): Unconfirmed | undefined {
    const names = this.#names.get(directory)
    const found = names?.get(name)
    names?.delete(name)
    if (names?.size === 0) this.#names.delete(directory)
    return found
  }

  put(directory: Directory, name: string, unconfirmed: Unconfirmed | undefined): void {
    if (unconfirmed === undefined) return
    const names = this.#names.get(directory)
    if (names === undefined) this.#names.set(directory, new Map([[name, unconfirmed]]))
    else names.set(name, unconfirmed)
  }

  /** The answer is called when all that was queued before it was asked for has been told: with it, what the looks until then have shown. */
  hold(): () => void {
    const held = new Set([...this.#all()].map(([, , each]) => each))
    return () => {
      for (const [directory, name, each] of this.#all()) if (held.has(each)) this.take(directory, name)
    }
  }

  /** Events were lost: what they would have told is to be found. */
  revert(): void {
    for (const [directory, name, { before, ino }] of this.#all()) {
      if (!this.#tree.isAttached(directory)) continue
      const entries = this.#tree.entriesOf(directory)
      const entry = entries.get(name)
      // Else something else has the name by now.
      if (entry !== undefined && mayBeSame(entry, { kind: before.kind, ino })) entries.set(name, before)
    }
    this.#names.clear()
  }

  *#all(): Generator<[Directory, string, Unconfirmed]> {
    for (const [directory, names] of this.#names)
      for (const [name, each] of names) yield [directory, name, each]
  }
}
