/** When it is time to look, in ms. */
export interface Pace {
  readonly delay: number
  readonly interval: number
}

/** The clocks of a reloader: the trailing edge of a burst, the look without an event, the next try. */
export class Timers {
  readonly #pace: Pace
  readonly #ring: () => void
  #quiet: NodeJS.Timeout | undefined
  #latest: NodeJS.Timeout | undefined
  // performance.now() of the next try: events must not put it off, there may be no end of them.
  #due = Number.POSITIVE_INFINITY
  #closed = false

  constructor(pace: Pace, ring: () => void) {
    this.#pace = pace
    this.#ring = ring
  }

  /** Something has changed: time when nothing has for `delay`. A burst that has no end is looked at in its midst, after `interval`. */
  changed(): void {
    if (this.#closed) return
    if (this.#quiet === undefined)
      this.#lookWithin(Math.min(this.#pace.interval, Math.max(1, this.#due - performance.now())))
    clearTimeout(this.#quiet)
    this.#quiet = setTimeout(this.#ring, this.#pace.delay)
  }

  /** A look begins: what was to come before is part of it. */
  reset(): void {
    clearTimeout(this.#quiet)
    clearTimeout(this.#latest)
    this.#quiet = undefined
    this.#due = Number.POSITIVE_INFINITY
  }

  /** A look is over: the next is an `interval` away, or what has failed is tried again after so many ms. */
  looked(retry?: number): void {
    const { interval } = this.#pace
    if (retry !== undefined) this.#due = performance.now() + retry
    // A change in the meantime has set it.
    if (this.#quiet === undefined || retry !== undefined)
      this.#lookWithin(Math.min(interval, retry ?? interval))
  }

  close(): void {
    this.#closed = true
    this.reset()
  }

  #lookWithin(ms: number): void {
    clearTimeout(this.#latest)
    if (!this.#closed) this.#latest = setTimeout(this.#ring, ms)
  }
}
