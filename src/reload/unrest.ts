import { differing, type Reading } from './contents.ts'

/** The number of successive looks with a move after which a key is not waited for. */
const RESTLESS = 4

/** The number of successive looks, up to the last, that counted each of these. */
type Streaks = ReadonlyMap<string, number>

/** Knows the keys that never hold still, a log or a counter among the files: nobody waits for these. */
export class Unrest {
  #versions: Reading['versions'] = new Map()
  // Keys that have moved; of these, keys that have not rested since they appeared.
  #moved: Streaks = new Map()
  #unborn: ReadonlySet<string> = new Set()
  // Directories from which names have gone that never rested.
  #passing: Streaks = new Map()
  // Keys that each second look found changed.
  #spoilt: Streaks = new Map()

  /** @param isBurst true: changes since the last look have not rested since */
  observe(found: Reading, isBurst: boolean): void {
    const moving = [...(isBurst ? this.#changed(found) : found.moving)]
    const isUnborn = (key: string) =>
      this.#moved.has(key) ? this.#unborn.has(key) : !this.#versions.has(key)
    this.#unborn = new Set(moving.filter(isUnborn))
    // A file that is written beside another, and renamed over that.
    const hasPassed = (key: string) => this.#unborn.has(key) && !found.versions.has(key)
    const others = moving.filter((key) => !hasPassed(key))
    this.#passing = counted(this.#passing, moving.filter(hasPassed).map(directoryOf))
    this.#moved = counted(this.#moved, others)
    this.#versions = found.versions
  }

  /** A second look, after the content of the last one has been validated: a key may rest at each look, and change during each validation. */
  observeAgain(found: Reading): void {
    this.#spoilt = counted(this.#spoilt, this.#changed(found))
  }

  /** Returns the keys that move of late, and are not waited for. */
  get restless(): ReadonlySet<string> {
    const isLong = (streaks: Streaks, key: string) => (streaks.get(key) ?? 0) >= RESTLESS
    const isRestless = (key: string) =>
      isLong(this.#moved, key) || (this.#unborn.has(key) && isLong(this.#passing, directoryOf(key)))
    const spoilt = [...this.#spoilt.keys()].filter((key) => isLong(this.#spoilt, key))
    return new Set([...[...this.#moved.keys()].filter(isRestless), ...spoilt])
  }

  /** True: a key that may come to rest has not at the last look. */
  get waits(): boolean {
    const { restless } = this
    return [...this.#moved.keys()].some((key) => !restless.has(key))
  }

  /** Returns the keys that move, or are another than at the last look. */
  #changed({ versions, moving }: Reading): Set<string> {
    return new Set([...moving, ...differing(this.#versions, versions)])
  }
}

function counted(streaks: Streaks, now: Iterable<string>): Streaks {
  return new Map([...now].map((key) => [key, (streaks.get(key) ?? 0) + 1]))
}

function directoryOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/') + 1)
}
