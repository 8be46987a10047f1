// What changes is likely to change again.
const SOONER = 5
const SOONEST_MS = 10

/** How often is polled: sooner after something was found, and never for more than half of the time. */
export class PollInterval {
  readonly #interval: number
  readonly #warn: (message: string) => void
  #rest: number
  #took = 0
  #isSlow = false

  /** @param warn once, when polls begin to take longer than they should be apart */
  constructor(interval: number, warn: (message: string) => void) {
    this.#interval = interval
    this.#warn = warn
    this.#rest = interval
  }

  /** ms to wait from the end of one poll to the next. */
  get rest(): number {
    return Math.max(this.#rest, this.#took)
  }

  /** What is to be said of the polls where they are slow. */
  get slowness(): string | undefined {
    return this.#isSlow
      ? `polled every ${this.#interval} ms: the last pass took ${Math.round(this.#took)} ms`
      : undefined
  }

  /** A poll is over. `hasChanges`: it has found some. `took`: ms. */
  note(hasChanges: boolean, took: number): void {
    const soon = Math.min(this.#interval, Math.max(SOONEST_MS, this.#interval / SOONER))
    this.#rest = hasChanges ? soon : Math.min(this.#interval, this.#rest * 2)
    this.#took = took
    const wasSlow = this.#isSlow
    // One that takes now a little more and now a little less is said once.
    this.#isSlow = took > (wasSlow ? this.#interval / 2 : this.#interval)
    if (this.#isSlow && !wasSlow) this.#warn(this.slowness as string)
  }

  /** Nothing was found for so long that polls are as far apart as they may be. */
  settle(): void {
    this.#rest = this.#interval
  }
}
