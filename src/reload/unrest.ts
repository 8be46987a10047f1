import type { Reading } from './contents.ts'

/** The number of successive looks with a move after which a key is not waited for. */
const RESTLESS = 4

interface Streak {
  /** The number of successive looks, up to the last, in which the key has moved. */
  readonly looks: number
  /** True: it has not rested since it appeared. */
  readonly isNew: boolean
}

/** Knows the keys that never hold still, a log or a counter among the files: nobody waits for these. */
export class Unrest {
  #versions: Reading['versions'] = new Map()
  #streaks: ReadonlyMap<string, Streak> = new Map()
  // The number of successive looks, up to the last, in which names that never rested have gone from each directory.
  #passing: ReadonlyMap<string, number> = new Map()
  // The number of successive second looks, up to the last, that found each key changed.
  #spoilt: ReadonlyMap<string, number> = new Map()
  #waits = false

  /** @param isBurst true: changes since the last look have not rested since */
  observe(found: Reading, isBurst: boolean): void {
    const streaks = new Map<string, Streak>()
    const passing = new Map<string, number>()
    for (const key of isBurst ? this.#changed(found) : found.moving) {
      const had = this.#streaks.get(key)
      const isNew = had?.isNew ?? !this.#versions.has(key)
      const directory = directoryOf(key)
      // A file that is written beside another, and renamed over that.
      if (isNew && !found.versions.has(key)) passing.set(directory, (this.#passing.get(directory) ?? 0) + 1)
      else streaks.set(key, { looks: (had?.looks ?? 0) + 1, isNew })
    }
    this.#streaks = streaks
    this.#passing = passing
    this.#versions = found.versions
    const { restless } = this
    this.#waits = [...streaks.keys()].some((key) => !restless.has(key))
  }

  /** A second look, after the content of the last one has been validated: a key may rest at each look, and change during each validation. */
  observeAgain(found: Reading): void {
    const changed = this.#changed(found)
    this.#spoilt = new Map([...changed].map((key) => [key, (this.#spoilt.get(key) ?? 0) + 1]))
  }

  /** Returns the keys that move of late, and are not waited for. */
  get restless(): ReadonlySet<string> {
    const isRestless = ([key, { looks, isNew }]: readonly [string, Streak]) =>
      looks >= RESTLESS || (isNew && (this.#passing.get(directoryOf(key)) ?? 0) >= RESTLESS)
    const moving = [...this.#streaks].filter(isRestless)
    const spoilt = [...this.#spoilt].filter(([, looks]) => looks >= RESTLESS)
    return new Set([...moving, ...spoilt].map(([key]) => key))
  }

  /** True: a key that may come to rest has not at the last look. */
  get waits(): boolean {
    return this.#waits
  }

  /** Returns the keys that move, or are another than at the last look. */
  #changed({ versions, moving }: Reading): Set<string> {
    const before = this.#versions
    const all = [...before.keys(), ...versions.keys()]
    return new Set([...moving, ...all.filter((key) => before.get(key) !== versions.get(key))])
  }
}

function directoryOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/') + 1)
}
