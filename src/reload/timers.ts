/** The times of looks, in ms. */
export interface Pace {
  readonly delay: number
  readonly interval: number
}

/** The pauses per look in a burst: reading takes a fifth of the time, at most. */
const PAUSES_PER_LOOK = 4
/** The least pause, in ms. */
const LEAST_PAUSE = 10

/** The clocks of a reloader: the trailing edge of a burst, looks in its midst, the look without an event, the next try. */
export class Timers {
  readonly #pace: Pace
  readonly #ring: () => void
  // Set while changes have not rested for `delay`.
  #quiet: NodeJS.Timeout | undefined
  // True: they had not when the last look began; and an interval, or the time to the next try, was over.
  #isBurst = false
  #isDue = false
  #latest: NodeJS.Timeout | undefined
  // performance.now() of the burst's beginning, or of the last look that took all; undefined: all rests.
  #burst: number | undefined
  // performance.now() of the next try. Events must not put it off, as they may never end.
  #due = Number.POSITIVE_INFINITY
  #closed = false

  constructor(pace: Pace, ring: () => void) {
    this.#pace = pace
    this.#ring = ring
  }

  /**
   * Notes a change: a look is due once nothing has changed for `delay`. In a long burst a look is also due after each `delay`, as one key
   * may never rest while all others do.
   */
  changed(): void {
    if (this.#closed) return
    if (this.#burst === undefined) {
      this.#burst = performance.now()
      this.#lookWithin(Math.min(2 * this.#pace.delay, this.#pace.interval, this.#due - this.#burst))
    }
    clearTimeout(this.#quiet)
    this.#quiet = setTimeout(() => {
      this.#quiet = undefined
      this.#ring()
    }, this.#pace.delay)
  }

  /**
   * Begins a look, which includes all looks that are due. Returns true in the midst of a burst: all changes are to be taken that there have been if
   * they have rested, or if time is up.
   */
  begin(): boolean {
    const now = performance.now()
    this.#isBurst = this.#quiet !== undefined
    // A timer may be early by less than a ms.
    this.#isDue = now + 1 >= Math.min((this.#burst ?? now) + this.#pace.interval, this.#due)
    this.#reset()
    return this.#isBurst && !this.#isDue
  }

  /**
   * Ends a look: the next is an `interval` away, or a failure is tried again after `retry` ms.
   *
   * @param took the ms that the whole reading took
   * @param waits true: something is waited for that moves still
   */
  looked(took: number, waits: boolean, retry?: number): void {
    const now = performance.now()
    const { delay, interval } = this.#pace
    if (retry !== undefined) this.#due = now + retry
    if ((waits || this.#isBurst) && this.#quiet === undefined) this.changed()
    if (this.#quiet === undefined) this.#burst = undefined
    else if (this.#isDue && !waits) this.#burst = now
    const pause = Math.max(delay, LEAST_PAUSE, PAUSES_PER_LOOK * took)
    const latest = this.#burst === undefined ? now + interval : Math.min(now + pause, this.#burst + interval)
    this.#lookWithin(waits ? pause : Math.min(latest, this.#due) - now)
  }

  close(): void {
    this.#closed = true
    this.#reset()
  }

  #reset(): void {
    clearTimeout(this.#quiet)
    clearTimeout(this.#latest)
    this.#quiet = undefined
    this.#due = Number.POSITIVE_INFINITY
  }

  #lookWithin(ms: number): void {
    clearTimeout(this.#latest)
    if (!this.#closed) this.#latest = setTimeout(this.#ring, Math.max(1, ms))
  }
}
