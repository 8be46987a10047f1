import type { Entry } from './entries.ts'
import type { Directory } from './translate.ts'

/** A name that has left its directory and may yet arrive at another: the first half of a rename. */
export interface Departure {
  cookie: number
  directory: Directory
  name: string
  entry: Entry
  mask: number
}

/**
 * What has left and not arrived. A handful as a rule, for the kernel queues the second half within a millisecond; but as many as
 * were moved out of the tree where they have not been given up yet, so nothing here walks through them.
 */
export class Departures {
  // One inode that is watched by two paths leaves both with one cookie.
  readonly #byCookie = new Map<number, Departure[]>()
  readonly #byName = new Map<Directory, Map<string, Departure>>()
  readonly #all = new Set<Departure>()

  get size(): number {
    return this.#all.size
  }

  [Symbol.iterator](): Iterator<Departure> {
    return this.#all.values()
  }

  add(departure: Departure): void {
    const { cookie, directory, name } = departure
    this.#all.add(departure)
    const names = this.#byName.get(directory)
    if (names === undefined) this.#byName.set(directory, new Map([[name, departure]]))
    else names.set(name, departure)
    const halves = this.#byCookie.get(cookie)
    if (halves === undefined) this.#byCookie.set(cookie, [departure])
    else halves.push(departure)
  }

  has(departure: Departure): boolean {
    return this.#all.has(departure)
  }

  of(cookie: number): Departure | undefined {
    return this.#byCookie.get(cookie)?.[0]
  }

  from(directory: Directory, name: string): Departure | undefined {
    return this.#byName.get(directory)?.get(name)
  }

  allFrom(directory: Directory): Departure[] {
    return [...(this.#byName.get(directory)?.values() ?? [])]
  }

  delete(departure: Departure): void {
    const { cookie, directory, name } = departure
    this.#all.delete(departure)
    const names = this.#byName.get(directory)
    names?.delete(name)
    if (names?.size === 0) this.#byName.delete(directory)
    const halves = this.#byCookie.get(cookie)?.filter((half) => half !== departure) ?? []
    if (halves.length === 0) this.#byCookie.delete(cookie)
    else this.#byCookie.set(cookie, halves)
  }
}
