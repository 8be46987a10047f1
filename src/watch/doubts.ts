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

  remove(directory: Directory, name: string): void {
    const names = this.#doubts.get(directory)
    names?.delete(name)
    if (names?.size === 0) this.#doubts.delete(directory)
  }

  clear(): void {
    this.#doubts.clear()
  }

  /** Takes out those there are now when it is called, unless they were renewed or resolved meanwhile. */
  hold(): () => Map<Directory, string[]> {
    const held = [...this.#doubts].map(([directory, names]) => [directory, [...names]] as const)
    return () => {
      const open = new Map<Directory, string[]>()
      for (const [directory, names] of held) {
        const now = this.#doubts.get(directory)
        const same = names.filter(([name, doubt]) => now?.get(name) === doubt).map(([name]) => name)
        if (same.length > 0) open.set(directory, same)
        for (const name of same) this.remove(directory, name)
      }
      return open
    }
  }
}
