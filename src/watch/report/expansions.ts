import type { Change } from './change.ts'

/**
 * The changes that a directory's change speaks for: one for each entry below it, for callers that ask for them one by one. They are
 * found when the directory changes, and follow its change when that is told. Steps in between handle the changes of directories alone.
 */
export class Expansions {
  readonly #below = new WeakMap<Change, readonly Change[]>()

  note(change: Change, below: readonly Change[]): void {
    if (below.length > 0) this.#below.set(change, below)
  }

  /** Returns the changes, each followed by those that it speaks for. */
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
