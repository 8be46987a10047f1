/** The times of looks, in ms. */
export interface Pace {
  readonly delay: number
  readonly interval: number
}

/** The situation of a look. */
export interface Occasion {
  /** True: there has been no pause of `delay` since the last change. */
  readonly isBurst: boolean
  /** True: all is to be taken as it is, since all has rested or time is up; keys that move are not. */
  readonly takesAll: boolean
}

/** The pauses per look in a burst: reading takes a fifth of the time, at most. */
const PAUSES_PER_LOOK = 4
/** The least pause, in ms. */
const LEAST_PAUSE = 10

/** The clocks of a reloader: the trailing edge of a burst, looks in its midst, the look without an event, the next try. */
export class Timers {
  readonly #pace: Pace
  readonly #ring: () => void
  #quiet: NodeJS.Timeout | undefined
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
      this.#burst = undefined
      this.#ring()
    }, this.#pace.delay)
  }

  /** Begins a look, which includes all looks that are due. */
  begin(): Occasion {
    const now = performance.now()
    const isBurst = this.#burst !== undefined
    // A timer may be early by less than a ms.
    const takesAll = now + 1 >= Math.min((this.#burst ?? 0) + this.#pace.interval, this.#due) || !isBurst
    if (isBurst && takesAll) this.#burst = now
    this.#reset()
    return { isBurst, takesAll }
  }

  /**
   * Ends a look: the next is an `interval` away, or a failure is tried again after `retry` ms.
   *
   * @param took the ms that the whole reading took
   */
  looked(took: number, retry?: number): void {
    const now = performance.now()
    const { delay, interval } = this.#pace
    if (retry !== undefined) this.#due = now + retry
    let latest = now + interval
    if (this.#burst !== undefined) {
      if (this.#quiet === undefined) this.changed()
      const pause = Math.max(delay, LEAST_PAUSE, PAUSES_PER_LOOK * took)
      latest = Math.min(now + pause, this.#burst + interval)
    }
    this.#lookWithin(Math.min(latest, this.#due) - now)
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
