import { dirname } from 'node:path'
import type { Directory } from './directory.ts'

const NONE: readonly Directory[] = []

/** The topmost directories of the trees, whose names are the paths of their roots. */
export class Tops {
  readonly #all = new Set<Directory>()
  // The tops of lost roots.
  readonly #lost = new Set<Directory>()
  // Tops by their own paths, and by each path above.
  readonly #atOrBelow = new Map<string, Set<Directory>>()

  get size(): number {
    return this.#all.size
  }

  has(top: Directory): boolean {
    return this.#all.has(top)
  }

  add(top: Directory): void {
    this.#all.add(top)
    for (const path of wayUp(top.name)) {
      const tops = this.#atOrBelow.get(path)
      if (tops === undefined) this.#atOrBelow.set(path, new Set([top]))
      else tops.add(top)
    }
  }

  /** Removes a top, which still has the path by which it was added as its name. */
  delete(top: Directory): void {
    this.#lost.delete(top)
    if (!this.#all.delete(top)) return
    for (const path of wayUp(top.name)) {
      const tops = this.#atOrBelow.get(path)
      tops?.delete(top)
      if (tops?.size === 0) this.#atOrBelow.delete(path)
    }
  }

  /** Returns the tops whose paths are this one or lie below it. */
  atOrBelow(path: string): readonly Directory[] {
    const found = this.#atOrBelow.get(path)
    return found === undefined ? NONE : [...found]
  }

  isLost(top: Directory): boolean {
    return this.#lost.has(top)
  }

  setLost(top: Directory, isLost: boolean): void {
    if (isLost) this.#lost.add(top)
    else this.#lost.delete(top)
  }
}

/** Yields a path, and those above it. */
function* wayUp(path: string): Generator<string> {
  for (let each = path; ; each = dirname(each)) {
    yield each
    if (each === dirname(each)) return
  }
}
