import type { Reading } from './contents.ts'

/** The number of successive looks with a move after which a key is not waited for. */
const RESTLESS = 4

/** Knows the keys that never hold still, a log or a counter among the files: nobody waits for these. */
export class Unrest {
  #versions: Reading['versions'] = new Map()
  // The number of successive looks, up to the last, in which each key has moved.
  #streaks: ReadonlyMap<string, number> = new Map()

  /** @param isBurst true: changes since the last look have not rested since */
  observe({ versions, moving }: Reading, isBurst: boolean): void {
    const before = this.#versions
    const changed = isBurst
      ? [...before.keys(), ...versions.keys()].filter((key) => before.get(key) !== versions.get(key))
      : []
    const streaks = new Map<string, number>()
    for (const key of [...moving, ...changed]) streaks.set(key, (this.#streaks.get(key) ?? 0) + 1)
    this.#streaks = streaks
    this.#versions = versions
  }

  /** Returns the keys that move of late, and are not waited for. */
  get restless(): ReadonlySet<string> {
    return new Set([...this.#streaks].filter(([, streak]) => streak >= RESTLESS).map(([key]) => key))
  }

  /** True: only restless keys move. */
  get isKnown(): boolean {
    return this.restless.size === this.#streaks.size
  }
}
