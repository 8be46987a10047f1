import type { Clock } from '../clock.ts'

/** The first so many directories are waited for longer: a small tree is to be seen however busy the machine is. */
const FEW = 1000
const LONGER = 10

/** The time that a call may wait for the directories that it is to find. */
export class Patience {
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #began: number
  readonly #ms: number
  #found = 0

  /** @param ms how long; and ten times as long for the first thousand directories */
  constructor(clock: Pick<Clock, 'elapsed'>, ms: number) {
    this.#clock = clock
    this.#began = clock.elapsed()
    this.#ms = ms
  }

  /** Counts directories that have been found. */
  count(found: number): void {
    this.#found += found
  }

  /** Returns the ms that are left; 0 or less: none. @param found directories besides those that have been counted */
  rest(found = 0): number {
    const ms = this.#found + found < FEW ? LONGER * this.#ms : this.#ms
    return this.#began + ms - this.#clock.elapsed()
  }
}
