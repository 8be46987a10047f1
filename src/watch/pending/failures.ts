import type { Directory } from '../tree/directory.ts'

/** What could not be listed, watched or followed, for a reason that may pass without an event that tells so: a server or a disk that is in trouble, say. */
export class Failures {
  #directories = new Map<Directory, number>()
  #links = new Map<Directory, Map<string, number>>()

  get size(): number {
    return this.#directories.size + this.#links.size
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

  /**
   * A symlink of which nobody could say where it leads, or what is there.
   *
   * @param since ms since the epoch: what is done to a file at its end from then on is to be told
   */
  noteLink(directory: Directory, name: string, since: number): void {
    const links = this.#links.get(directory) ?? new Map<string, number>()
    links.set(name, Math.min(links.get(name) ?? Number.POSITIVE_INFINITY, since))
    this.#links.set(directory, links)
  }

  /** A directory has moved out of another: if that is to be tried again with all that lies below it, so is this one. */
  carry(moved: Directory, from: Directory): void {
    const since = this.#untoldSince(from)
    if (since !== Number.POSITIVE_INFINITY) this.note(moved, since)
  }

  /** Whether what was written to files in a directory may have been told by nobody. */
  covers(directory: Directory): boolean {
    return this.#untoldSince(directory) !== Number.POSITIVE_INFINITY
  }

  /** ms since the epoch; Infinity: all was told. */
  #untoldSince(directory: Directory): number {
    let earliest = Number.POSITIVE_INFINITY
    if (this.#directories.size === 0) return earliest
    for (let each: Directory | undefined = directory; each !== undefined; each = each.parent)
      earliest = Math.min(earliest, this.#directories.get(each) ?? Number.POSITIVE_INFINITY)
    return earliest
  }

  /** All of it, to be tried again. */
  take(): {
    directories: ReadonlyMap<Directory, number>
    links: ReadonlyMap<Directory, ReadonlyMap<string, number>>
  } {
    const taken = { directories: this.#directories, links: this.#links }
    this.#directories = new Map()
    this.#links = new Map()
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
    for (const directory of this.#links.keys()) if (isForgotten(directory)) this.#links.delete(directory)
    return earliest
  }
}
