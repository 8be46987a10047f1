import type { Directory } from '../tree/directory.ts'

const NONE: ReadonlyMap<string, never> = new Map<string, never>()

/** A value for each of some names in directories. */
export class ByName<T> {
  readonly #byDirectory = new Map<Directory, Map<string, T>>()

  /** The number of directories with names. */
  get size(): number {
    return this.#byDirectory.size
  }

  get(directory: Directory, name: string): T | undefined {
    return this.#byDirectory.get(directory)?.get(name)
  }

  in(directory: Directory): ReadonlyMap<string, T> {
    return this.#byDirectory.get(directory) ?? NONE
  }

  set(directory: Directory, name: string, value: T): void {
    const names = this.#byDirectory.get(directory)
    if (names === undefined) this.#byDirectory.set(directory, new Map([[name, value]]))
    else names.set(name, value)
  }

  /** Deletes a name, and returns the value that it had. */
  take(directory: Directory, name: string): T | undefined {
    const names = this.#byDirectory.get(directory)
    const value = names?.get(name)
    names?.delete(name)
    if (names?.size === 0) this.#byDirectory.delete(directory)
    return value
  }

  /** Deletes all names of directories. */
  forget(isForgotten: (directory: Directory) => boolean): void {
    for (const directory of this.#byDirectory.keys())
      if (isForgotten(directory)) this.#byDirectory.delete(directory)
  }

  [Symbol.iterator](): Iterator<[Directory, ReadonlyMap<string, T>]> {
    return this.#byDirectory.entries()
  }
}
