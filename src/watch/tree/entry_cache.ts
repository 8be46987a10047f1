import type { Entries } from '../scan/entry.ts'
import type { Directory } from './directory.ts'

/** The most entries in Maps at once: some 6 MB. While they are young more, but never more than 8 times as many. */
export const MOST_ENTRIES = 65_536
const AT_THE_WORST = 8

/** A directory of n entries is young for n / 64 uses of any: packing it sooner would cost more than it saves. */
const ENTRIES_A_USE = 64

// Young directories are passed over, at most 32 of them each time.
const MOST_LOOKS = 32

/**
 * The directories whose entries are in Maps: those that were used last. It owns the decision when to pack them again, and does not know the entries: packing
 * keeps their values, but unpacking makes other objects.
 *
 * Only {@link trim} packs, so a caller may change the entries that it has got until it calls that.
 */
export class EntryCache {
  readonly #most: number
  // In the order of the last use: the number of entries counted for each directory, and the number of that use.
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

  /** True: {@link trim} has something to do. */
  get isFull(): boolean {
    return this.#total > this.#most
  }

  /**
   * Packs what has not been used for long, if there is too much. Directories used since the last call stay.
   * So do young ones: a large directory that is used in turn with others would be unpacked each time.
   */
  trim(): void {
    // The last directory may have grown since its use.
    if (this.#last !== undefined) this.#use(this.#last, this.#last.unpackedSize)
    let looks = 0
    for (const [directory, { size, at }] of this.isFull ? this.#used : []) {
      if (at > this.#usesAtTrim || this.#total <= (this.#most * 3) / 4 || looks++ >= MOST_LOOKS) break
      const isYoung = this.#uses - at < size / ENTRIES_A_USE
      // A young directory that is larger than the limit alone is not packed each time that another is used.
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
    // An empty Map is an object, too: it counts as 4 entries.
    const size = entries + 4
    this.#used.set(directory, { size, at: ++this.#uses })
    this.#total += size
    this.#last = directory
  }
}
