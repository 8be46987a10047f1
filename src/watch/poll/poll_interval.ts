// An entry that has changed is likely to change again.
const SOONER = 5
const SOONEST_MS = 10

/** The time between polls: shorter after something was found, and long enough that polls take at most half of the time. */
export class PollInterval {
  readonly #interval: number
  readonly #warn: (message: string) => void
  #rest: number
  #took = 0
  #isSlow = false

  /** @param warn called once, when polls begin to take longer than the interval */
  constructor(interval: number, warn: (message: string) => void) {
    this.#interval = interval
    this.#warn = warn
    this.#rest = interval
  }

  /** ms to wait from the end of one poll to the next. */
  get rest(): number {
    return Math.max(this.#rest, this.#took)
  }

  /** ms after which a change has been told: one may come right behind a poll's look at its place. */
  get longest(): number {
    return Math.max(this.#interval, this.#took) + 2 * this.#took
  }

  /** The message about slow polls; undefined: they are not slow. */
  get slowness(): string | undefined {
    return this.#isSlow
      ? `polled every ${this.#interval} ms: the last pass took ${Math.round(this.#took)} ms`
      : undefined
  }

  /** Notes that a poll is over. `hasChanges`: it has found some. `took`: ms. */
  note(hasChanges: boolean, took: number): void {
    const soon = Math.min(this.#interval, Math.max(SOONEST_MS, this.#interval / SOONER))
    this.#rest = hasChanges ? soon : Math.min(this.#interval, this.#rest * 2)
    this.#took = took
    const wasSlow = this.#isSlow
    // Polls that take now a little more and now a little less are warned of once.
    this.#isSlow = took > (wasSlow ? this.#interval / 2 : this.#interval)
    if (this.#isSlow && !wasSlow) this.#warn(this.slowness as string)
  }

  /** Sets polls as far apart as they may be, as nothing was found for long enough. */
  settle(): void {
    this.#rest = this.#interval
  }
}
