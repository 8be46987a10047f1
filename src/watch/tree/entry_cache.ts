import type { Entries } from '../scan/entry.ts'
import type { Directory } from './directory.ts'

/** So many entries may be in Maps at once: some 6 MB. */
const MOST = 65_536

/** The directories whose entries are Maps: those that were spoken of last. */
export class EntryCache {
  // In the order of their last use, with the number of entries counted for each.
  readonly #counted = new Map<Directory, number>()
  #total = 0
  #last: Directory | undefined
  readonly #most: number

  constructor(most = MOST) {
    this.#most = most
  }

  entriesOf(directory: Directory): Entries {
    const entries = directory.warm()
    if (directory !== this.#last) {
      this.#last = directory
      this.#use(directory, entries.size)
    }
    return entries
  }

  forget(directory: Directory): void {
    this.#total -= this.#counted.get(directory) ?? 0
    this.#counted.delete(directory)
    if (this.#last === directory) this.#last = undefined
  }

  #use(directory: Directory, size: number): void {
    this.forget(directory)
    // An empty Map is no less of an object.
    const count = size + 4
    this.#counted.set(directory, count)
    this.#last = directory
    this.#total += count
    for (const [oldest] of this.#counted) {
      if (this.#total <= this.#most || oldest === directory) return
      this.forget(oldest)
      oldest.compact()
    }
  }
}
