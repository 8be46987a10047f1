import type { Directory } from '../tree/directory.ts'
import { ByName } from './by_name.ts'

/** Names in directories. */
export type NamesOf = Map<Directory, Set<string>>

/**
 * Directories, names and links to be looked at. {@link Pending.work} is what may be looked at when the events at hand have been told;
 * {@link Pending.failed} is what nobody could look at, for a reason that may pass without an event: a server or a disk that is in trouble, say.
 */
export class DirtySet {
  readonly #directories = new Map<Directory, number>()
  readonly #names = new ByName<true>()
  readonly #links = new ByName<number>()

  get isEmpty(): boolean {
    return this.size === 0
  }

  /** How many directories something is to be looked at in. */
  get size(): number {
    return this.#directories.size + this.#names.size + this.#links.size
  }

  /**
   * A directory is to be listed, for the first time or again, with all that is to be gone into.
   *
   * @param since ms since the epoch: what was written from then on to files in it may have been told by nobody; left out, events have told of it
   */
  list(directory: Directory, since = Number.POSITIVE_INFINITY): void {
    const known = this.#directories.get(directory) ?? Number.POSITIVE_INFINITY
    this.#directories.set(directory, Math.min(known, since))
  }

  /** What is at a name is to be looked at by itself, and told then: a symlink, which may lead to a directory. */
  look(directory: Directory, name: string): void {
    this.#names.set(directory, name, true)
  }

  /**
   * A symlink was seen, and where it leads: the watches on its path are to be brought up to date.
   *
   * @param since ms since the epoch: what is done to a file at its end from then on is to be told
   */
  follow(directory: Directory, name: string, since: number): void {
    const known = this.#links.get(directory, name) ?? Number.POSITIVE_INFINITY
    this.#links.set(directory, name, Math.min(known, since))
  }

  /** A directory has moved out of another: if that is to be listed again with all that lies below it, so is this one. */
  carry(moved: Directory, from: Directory): void {
    const since = this.#untoldSince(from)
    if (since !== Number.POSITIVE_INFINITY) this.list(moved, since)
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

  /**
   * Moves all of another set here. Where links lead is looked at, and what is there: the one does not bring up the other where it is seen to be what it
   * was.
   */
  takeAll(other: DirtySet): void {
    for (const [directory, since] of other.#directories) this.list(directory, since)
    for (const [directory, links] of other.#links)
      for (const [name, since] of links) {
        this.look(directory, name)
        this.follow(directory, name, since)
      }
    other.forget(() => true)
  }

  /** Forgets directories that are looked through otherwise. Returns since when something in them may have been told by nobody. */
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
    this.#links.clear()
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
