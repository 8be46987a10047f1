import type { Entries } from '../scan/entry.ts'
import type { Directory } from './directory.ts'

/** So many entries may be in Maps at once: some 6 MB. More while they are young, but never this many times more. */
export const MOST_ENTRIES = 65_536
const AT_THE_WORST = 8

/** To unpack an entry is paid for when its directory has not been used during so small a part of a use. */
const ENTRIES_A_USE = 64

// Those that are young are passed over: not all of them each time.
const MOST_LOOKS = 32

/**
 * The directories whose entries are Maps: those that were used last. It owns when they are packed again, and may not know what is in them:
 * packed or not, a directory's entries are the same, but they are other objects.
 *
 * Nothing is packed but by {@link trim}, so whoever has got entries may change them until he calls that.
 */
export class EntryCache {
  readonly #most: number
  // In the order of their last use: how many entries are counted for each, and the number of that use.
  readonly #used = new Map<Directory, { size: number; at: number }>()
  #total = 0
  #uses = 0
  #usesAtTrim = 0
  #last: Directory | undefined

  constructor(most = MOST_ENTRIES) {
    this.#most = most
  }

  entriesOf(directory: Directory): Entries {
    const entries = directory.unpacked()
    if (directory !== this.#last) this.#use(directory, entries.size)
    return entries
  }

  /** Whether there is something for {@link trim} to do. */
  get isFull(): boolean {
    return this.#total > this.#most
  }

  /**
   * Packs what has not been used for long, if there is too much. What was used since the last call stays. So does what is young: a large
   * directory that is used in turn with others would be unpacked each time.
   */
  trim(): void {
    // It may have grown since.
    if (this.#last !== undefined) this.#use(this.#last, this.#last.unpackedSize)
    let looks = 0
    for (const [directory, { size, at }] of this.isFull ? this.#used : []) {
      if (at > this.#usesAtTrim || this.#total <= (this.#most * 3) / 4 || looks++ >= MOST_LOOKS) break
      const isYoung = this.#uses - at < size / ENTRIES_A_USE
      // One that is larger than that alone is not packed each time that another is used.
      if (isYoung && this.#total - size <= this.#most * AT_THE_WORST) continue
      this.forget(directory)
      directory.compact()
    }
    this.#usesAtTrim = this.#uses
  }

  forget(directory: Directory): void {
    this.#total -= this.#used.get(directory)?.size ?? 0
    this.#used.delete(directory)
    if (this.#last === directory) this.#last = undefined
  }

  #use(directory: Directory, entries: number): void {
    this.forget(directory)
    // An empty Map is no less of an object.
    const size = entries + 4
    this.#used.set(directory, { size, at: ++this.#uses })
    this.#total += size
    this.#last = directory
  }
}
