import type { Clock } from '../clock.ts'

/** So many directories are waited for longer: whether a small tree is seen is to be no matter of how busy the machine is. */
const FEW = 1000
const LONGER = 10

/** How long a call may wait for what is found within it. */
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

  /** So many directories have been found. */
  count(found: number): void {
    this.#found += found
  }

  /** ms that are left; 0 or less: none. @param found besides those that have been counted */
  rest(found = 0): number {
    const ms = this.#found + found < FEW ? LONGER * this.#ms : this.#ms
    return this.#began + ms - this.#clock.elapsed()
  }
}
