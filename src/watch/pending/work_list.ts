import type { Directory } from '../tree/directory.ts'

/** Names in directories. */
export type NamesOf = Map<Directory, Set<string>>

/** What is to be listed and looked at when the events at hand have been told. */
export class WorkList {
  #directories = new Map<Directory, number>()
  #names: NamesOf = new Map()
  #links: NamesOf = new Map()
  #since = Number.POSITIVE_INFINITY

  get isEmpty(): boolean {
    return this.#directories.size === 0 && this.#names.size === 0 && this.#links.size === 0
  }

  /**
   * A directory, for the first time or again, with all that is to be gone into.
   *
   * @param since ms since the epoch: what was written from then on to files in it may have been told by nobody; left out, events have told of it
   */
  list(directory: Directory, since = Number.POSITIVE_INFINITY): void {
    const known = this.#directories.get(directory) ?? Number.POSITIVE_INFINITY
    this.#directories.set(directory, Math.min(known, since))
  }

  /** What is at a name is to be looked at by itself, and told then: a symlink, which may lead to a directory. */
  look(directory: Directory, name: string): void {
    put(this.#names, directory, name)
  }

  /**
   * A symlink was seen, and where it leads: its way is to be watched.
   *
   * @param since ms since the epoch: what is done to a file at its end from then on is to be told
   */
  follow(directory: Directory, name: string, since: number): void {
    put(this.#links, directory, name)
    this.#since = Math.min(this.#since, since)
  }

  /** `since`: for all of them. */
  takeLinks(): { links: NamesOf; since: number } {
    const taken = { links: this.#links, since: this.#since }
    this.#links = new Map()
    this.#since = Number.POSITIVE_INFINITY
    return taken
  }

  /** What there is to be done now; what has to wait stays. */
  take(waits: (directory: Directory) => boolean): {
    /** Each with its `since`. */
    directories: Map<Directory, number>
    names: NamesOf
  } {
    const taken = { directories: this.#directories, names: this.#names }
    this.#directories = new Map()
    this.#names = new Map()
    for (const [directory, since] of taken.directories) {
      if (!waits(directory)) continue
      taken.directories.delete(directory)
      this.list(directory, since)
    }
    for (const [directory, names] of taken.names) {
      if (!waits(directory)) continue
      taken.names.delete(directory)
      for (const name of names) this.look(directory, name)
    }
    return taken
  }
}

function put(names: NamesOf, directory: Directory, name: string): void {
  const known = names.get(directory)
  if (known === undefined) names.set(directory, new Set([name]))
  else known.add(name)
}
