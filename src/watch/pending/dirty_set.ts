import { ByName } from '../tree/by_name.ts'
import type { Directory } from '../tree/directory.ts'

/** Names in directories. */
export type NamesOf = Map<Directory, Set<string>>

/**
 * Directories, names and links to be looked at. {@link Pending.work} has those that may be looked at when the current events are translated;
 * {@link Pending.failed} has those that could not be looked at, for a reason that may pass without an event: a server or a disk in trouble, say.
 */
export class DirtySet {
  readonly #directories = new Map<Directory, number>()
  readonly #names = new ByName<Directory, true>()
  readonly #links = new ByName<Directory, number>()

  /** The number of directories to be listed, and of directories with names or links to be looked at. */
  get size(): number {
    return this.#directories.size + this.#names.size + this.#links.size
  }

  /**
   * Adds a directory to be listed, for the first time or again, with the directories below it.
   *
   * @param since ms since the epoch: writes to files in it from then on may not have been reported; left out, events have reported them
   */
  list(directory: Directory, since = Number.POSITIVE_INFINITY): void {
    const known = this.#directories.get(directory) ?? Number.POSITIVE_INFINITY
    this.#directories.set(directory, Math.min(known, since))
  }

  /** Adds a name to be looked at by itself, and reported then: a symlink, which may lead to a directory. */
  look(directory: Directory, name: string): void {
    this.#names.put(directory, name, true)
  }

  /**
   * Adds a symlink that was seen with its end: the watches on its path are to be brought up to date.
   *
   * @param since ms since the epoch: changes of a file at its end from then on are to be reported
   */
  follow(directory: Directory, name: string, since: number): void {
    const known = this.#links.at(directory, name) ?? Number.POSITIVE_INFINITY
    this.#links.put(directory, name, Math.min(known, since))
  }

  /** Adds a directory that has moved out of `from`, if `from` is to be listed again with all that lies below it. */
  carry(moved: Directory, from: Directory): void {
    const since = this.#untoldSince(from)
    if (since !== Number.POSITIVE_INFINITY) this.list(moved, since)
  }

  /** Returns true if writes to files in a directory may not have been reported. */
  covers(directory: Directory): boolean {
    return this.#untoldSince(directory) !== Number.POSITIVE_INFINITY
  }

  /** Returns ms since the epoch; Infinity: all was reported. */
  #untoldSince(directory: Directory): number {
    let earliest = Number.POSITIVE_INFINITY
    if (this.#directories.size === 0) return earliest
    for (let each: Directory | undefined = directory; each !== undefined; each = each.parent)
      earliest = Math.min(earliest, this.#directories.get(each) ?? Number.POSITIVE_INFINITY)
    return earliest
  }

  /** Moves all of another set here. Links are looked at and followed: a look that finds a link as it was does not lead to its end, nor the other way round. */
  takeAll(other: DirtySet): void {
    for (const [directory, since] of other.#directories) this.list(directory, since)
    for (const [directory, links] of other.#links)
      for (const [name, since] of links) {
        this.look(directory, name)
        this.follow(directory, name, since)
      }
    other.forget(() => true)
  }

  /** Forgets directories that are listed otherwise. Returns ms since the epoch: changes in them from then on may not have been reported. */
  forget(isForgotten: (directory: Directory) => boolean): number {
    let earliest = Number.POSITIVE_INFINITY
    for (const [directory, since] of this.#directories) {
      if (!isForgotten(directory)) continue
      this.#directories.delete(directory)
      earliest = Math.min(earliest, since)
    }
    this.#names.forget(isForgotten)
    this.#links.forget(isForgotten)
    return earliest
  }

  /** Takes the links to be followed. `since` is for all of them. */
  takeLinks(): { links: NamesOf; since: number } {
    const links: NamesOf = new Map()
    let since = Number.POSITIVE_INFINITY
    for (const [directory, names] of this.#links) {
      links.set(directory, new Set(names.keys()))
      for (const each of names.values()) since = Math.min(since, each)
    }
    this.#links.forget(() => true)
    return { links, since }
  }

  /** Takes the directories to be listed, each with its `since`, and the names to be looked at. What has to wait stays. */
  take(waits: (directory: Directory) => boolean): { directories: Map<Directory, number>; names: NamesOf } {
    const directories = new Map([...this.#directories].filter(([directory]) => !waits(directory)))
    const looks = [...this.#names].filter(([directory]) => !waits(directory))
    for (const directory of directories.keys()) this.#directories.delete(directory)
    const names = new Map(looks.map(([directory, some]) => [directory, new Set(some.keys())]))
    this.#names.forget((directory) => names.has(directory))
    return { directories, names }
  }
}
