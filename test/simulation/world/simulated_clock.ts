import type { Clock } from '../../../src/watch/clock.ts'
import { TICK_MS } from '../kernel/file_tree.ts'

interface Timer {
  due: number
  task: () => void
}

/** A clock that the schedule moves on, and timers that wait to be fired. */
export class SimulatedClock implements Clock {
  // An arbitrary start that leaves no file with the time 0.
  #now = 1_000_000
  #timers: Timer[] = []

  now(): number {
    return this.#now
  }

  elapsed(): number {
    return this.#now
  }

  cpu(): number {
    return 0
  }

  /** Returns the time that stamps files: up to a tick behind. */
  coarseNow(): number {
    return Math.floor(this.#now / TICK_MS) * TICK_MS
  }

  after(ms: number, task: () => void): () => void {
    const timer = { due: this.#now + ms, task }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer)
    }
  }

  pass(ms: number): void {
    this.#now += ms
  }

  /** Returns the ms until the next timer is due, or Infinity without timers. */
  get wait(): number {
    return Math.max(0, Math.min(...this.#timers.map(({ due }) => due)) - this.#now)
  }

  /** Moves the clock on to the next timer, and runs the timer. */
  fire(): void {
    this.#now += this.wait
    const timer = this.#timers.find(({ due }) => due <= this.#now)
    this.#timers = this.#timers.filter((each) => each !== timer)
    timer?.task()
  }
}
