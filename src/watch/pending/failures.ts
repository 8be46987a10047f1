import type { Directory } from '../tree/directory.ts'

/** What could not be listed, or watched, for a reason that may pass without an event that tells so: a server or a disk that is in trouble, say. */
export class Failures {
  #directories = new Map<Directory, number>()

  get size(): number {
    return this.#directories.size
  }

  /**
   * A directory with all that lies below it.
   *
   * @param since ms since the epoch: what was written from then on to files in it may have been told by nobody
   */
  note(directory: Directory, since: number): void {
    const known = this.#directories.get(directory) ?? Number.POSITIVE_INFINITY
    this.#directories.set(directory, Math.min(known, since))
  }

  /** All of it, to be tried again. */
  take(): ReadonlyMap<Directory, number> {
    const taken = this.#directories
    this.#directories = new Map()
    return taken
  }

  /** These are looked through otherwise. The answer: since when something may have been told by nobody. */
  forget(isForgotten: (directory: Directory) => boolean): number {
    let earliest = Number.POSITIVE_INFINITY
    for (const [directory, since] of this.#directories) {
      if (!isForgotten(directory)) continue
      this.#directories.delete(directory)
      earliest = Math.min(earliest, since)
    }
    return earliest
  }
}
