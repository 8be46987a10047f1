import type { Change } from './change.ts'

/**
 * A change of a directory speaks for all that lies below it. These are the changes that it speaks for, where they are asked for one by one: they are found when the
 * directory changes, and follow it when it is told. What is done with changes in between is done with those of directories alone.
 */
export class Expansions {
  readonly #below = new WeakMap<Change, readonly Change[]>()

  note(change: Change, below: readonly Change[]): void {
    if (below.length > 0) this.#below.set(change, below)
  }

  /** Each change, and behind it those that it speaks for. */
  expand(changes: Change[]): Change[] {
    if (!changes.some((change) => this.#below.has(change))) return changes
    const all: Change[] = []
    for (const change of changes) {
      all.push(change)
      for (const below of this.#below.get(change) ?? []) all.push(below)
    }
    return all
  }
}
