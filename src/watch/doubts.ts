import type { Directory } from './directory.ts'

/**
 * Names of which something else was seen than their events say. As a rule more events are on the way; where none come, they are
 * looked at again. A doubt that was renewed is another.
 */
export class Doubts {
  readonly #doubts = new Map<Directory, Map<string, object>>()

  get isEmpty(): boolean {
    return this.#doubts.size === 0
  }

  add(directory: Directory, name: string): void {
    const names = this.#doubts.get(directory)
    if (names === undefined) this.#doubts.set(directory, new Map([[name, {}]]))
    else names.set(name, {})
  }

  /** Whether there was one. */
  remove(directory: Directory, name: string): boolean {
    const names = this.#doubts.get(directory)
    const isThere = names?.delete(name) ?? false
    if (names?.size === 0) this.#doubts.delete(directory)
    return isThere
  }

  clear(): void {
    this.#doubts.clear()
  }

  /** Those there are. */
  get all(): Array<[Directory, string[]]> {
    return [...this.#doubts].map(([directory, names]) => [directory, [...names.keys()]])
  }

  /** To be asked later: takes out which of the names of a directory are in the very doubt that they are in now. */
  hold(directory: Directory): () => string[] {
    const held = [...(this.#doubts.get(directory) ?? [])]
    return () => {
      const now = this.#doubts.get(directory)
      const same = held.filter(([name, doubt]) => now?.get(name) === doubt).map(([name]) => name)
      for (const name of same) this.remove(directory, name)
      return same
    }
  }
}
