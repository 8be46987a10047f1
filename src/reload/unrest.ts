import type { Reading } from './contents.ts'

/** In how many looks, one after another, a key has moved that is not waited for. */
const RESTLESS = 4

/** Knows which keys never hold still, a log or a counter among the files: nobody waits for these. */
export class Unrest {
  #versions: Reading['versions'] = new Map()
  // In how many looks up to the last each key has moved.
  #streaks: ReadonlyMap<string, number> = new Map()

  /** @param isBurst whether what has changed since the last look has not rested since */
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

  /** What moves of late, and is not waited for. */
  get restless(): ReadonlySet<string> {
    return new Set([...this.#streaks].filter(([, streak]) => streak >= RESTLESS).map(([key]) => key))
  }

  /** Whether nothing else moves. */
  get isKnown(): boolean {
    return this.restless.size === this.#streaks.size
  }
}
