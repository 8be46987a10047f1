import type { Clock } from '../../../src/watch/clock.ts'
import { TICK_MS } from '../kernel/file_tree.ts'

interface Timer {
  due: number
  task: () => void
}

/** Time that passes when the schedule says so, and timers that wait to be let run. */
export class SimulatedClock implements Clock {
  // Some moment, so that no file is of 1970.
  #now = 1_000_000
  #timers: Timer[] = []

  now(): number {
    return this.#now
  }

  elapsed(): number {
    return this.#now
  }

  /** What files are stamped with: behind by up to a tick. */
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

  /** In how many ms the next timer is due; Infinity: there is none. */
  get wait(): number {
    return Math.max(0, Math.min(...this.#timers.map(({ due }) => due)) - this.#now)
  }

  /** Lets the time pass until the next timer is due, and runs it. */
  fire(): void {
    this.#now += this.wait
    const timer = this.#timers.find(({ due }) => due <= this.#now)
    this.#timers = this.#timers.filter((each) => each !== timer)
    timer?.task()
  }
}
