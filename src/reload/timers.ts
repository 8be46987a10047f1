import type { ReloadConfig } from './options.ts'

type Pace = Pick<ReloadConfig, 'delay' | 'interval'>

/** The pauses per look in a burst: reading takes a fifth of the time, at most. */
const PAUSES_PER_LOOK = 4
/** The least pause, in ms. */
const LEAST_PAUSE = 10
const NEVER = Number.POSITIVE_INFINITY

/** Tells when to look: at the trailing edge of a burst, in its midst, without an event, and for the next try. Times are of performance.now(). */
export class Timers {
  readonly #pace: Pace
  readonly #ring: () => void
  #timer: NodeJS.Timeout | undefined
  #closed = false
  // The beginning of the burst, or the last look that took all; NEVER: all rests.
  #burst = NEVER
  // The end of the burst, if nothing changes until then.
  #end = NEVER
  // The latest look, and the next try. Events must not put these off, as they may never end.
  #latest = NEVER
  #retry = NEVER
  // True: changes had not rested for `delay` when the last look began; and an interval, or the time to the next try, was over.
  #isBurst = false
  #isDue = false

  constructor(pace: Pace, ring: () => void) {
    this.#pace = pace
    this.#ring = ring
  }

  /**
   * Notes a change: a look is due once nothing has changed for `delay`. In a long burst a look is also due after each `delay`, as one key
   * may never rest while all others do.
   */
  changed(): void {
    const now = performance.now()
    const { delay, interval } = this.#pace
    if (this.#burst === NEVER) {
      this.#burst = now
      this.#latest = Math.min(this.#latest, now + 2 * delay, now + interval)
    }
    this.#end = now + delay
    this.#arm()
  }

  /**
   * Begins a look, which includes all looks that are due. Returns true in the midst of a burst: all changes are to be taken that there have been if
   * they have rested, or if time is up.
   */
  begin(): boolean {
    const now = performance.now()
    this.#isBurst = this.#end !== NEVER && now < this.#end
    this.#isDue = now >= Math.min(this.#burst + this.#pace.interval, this.#retry)
    this.#end = this.#latest = this.#retry = NEVER
    this.#arm()
    return this.#isBurst && !this.#isDue
  }

  /**
   * Ends a look: the next is an `interval` away, or at the time of the next try.
   *
   * @param took the ms that the whole reading took
   * @param waits true: something is waited for that moves still
   */
  looked(took: number, waits: boolean, retryAt = NEVER): void {
    const now = performance.now()
    const { delay, interval } = this.#pace
    this.#retry = retryAt
    if ((waits || this.#isBurst) && this.#end === NEVER) this.changed()
    if (this.#end === NEVER) this.#burst = NEVER
    else if (this.#isDue && !waits) this.#burst = now
    const pause = Math.max(delay, LEAST_PAUSE, PAUSES_PER_LOOK * took)
    this.#latest = this.#burst === NEVER ? now + interval : Math.min(now + pause, this.#burst + interval)
    // A try that is due waits, too.
    if (waits) [this.#latest, this.#retry] = [now + pause, Math.max(now + pause, this.#retry)]
    this.#arm()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #arm(): void {
    clearTimeout(this.#timer)
    const next = Math.min(this.#end, this.#latest, this.#retry)
    if (this.#closed || next === NEVER) return
    // Node counts whole ms, and libuv's clock has no smaller ones either: a timer may be early by almost two.
    const ring = () => (performance.now() < next ? this.#arm() : this.#ring())
    this.#timer = setTimeout(ring, Math.max(1, next - performance.now()))
  }
}
