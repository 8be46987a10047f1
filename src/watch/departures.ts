import type { Directory } from './directory.ts'
import type { Entry } from './entries.ts'

/** An event that is told later. */
export interface HeldEvent {
  directory: Directory
  mask: number
  cookie: number
  name: string
}

/** A name that has left its directory and may yet arrive at another: the first half of a rename. */
export interface Departure {
  cookie: number
  directory: Directory
  name: string
  entry: Entry
  mask: number
  /** What was told meanwhile of a directory on its way, or of one below it. */
  readonly held: HeldEvent[]
}

/**
 * What has left and not arrived. A handful as a rule, for the kernel queues the second half within a millisecond; but as many as
 * were moved out of the tree where they have not been given up yet, so nothing here walks through them.
 */
export class Departures {
  // One inode that is watched by two paths leaves both with one cookie.
  readonly #byCookie = new Map<number, Departure[]>()
  readonly #byName = new Map<Directory, Map<string, Departure>>()
  readonly #byEntry = new Map<Entry, Departure>()

  get size(): number {
    return this.#byEntry.size
  }

  [Symbol.iterator](): Iterator<Departure> {
    return this.#byEntry.values()
  }

  add(departure: Departure): void {
    const { cookie, directory, name, entry } = departure
    this.#byEntry.set(entry, departure)
    const names = this.#byName.get(directory)
    if (names === undefined) this.#byName.set(directory, new Map([[name, departure]]))
    else names.set(name, departure)
    const halves = this.#byCookie.get(cookie)
    if (halves === undefined) this.#byCookie.set(cookie, [departure])
    else halves.push(departure)
  }

  has(departure: Departure): boolean {
    return this.#byEntry.get(departure.entry) === departure
  }

  of(cookie: number): Departure | undefined {
    return this.#byCookie.get(cookie)?.[0]
  }

  /** Of what is on its way. */
  ofEntry(entry: Entry): Departure | undefined {
    return this.#byEntry.get(entry)
  }

  from(directory: Directory, name: string): Departure | undefined {
    return this.#byName.get(directory)?.get(name)
  }

  allFrom(directory: Directory): Departure[] {
    return [...(this.#byName.get(directory)?.values() ?? [])]
  }

  delete(departure: Departure): void {
    const { cookie, directory, name, entry } = departure
    this.#byEntry.delete(entry)
    const names = this.#byName.get(directory)
    if (names?.get(name) === departure) names.delete(name)
    if (names?.size === 0) this.#byName.delete(directory)
    const halves = this.#byCookie.get(cookie)?.filter((half) => half !== departure) ?? []
    if (halves.length === 0) this.#byCookie.delete(cookie)
    else this.#byCookie.set(cookie, halves)
  }
}
