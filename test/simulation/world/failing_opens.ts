import { constants } from 'node:os'

const OF_OPENS_ALONE = new Set([-constants.errno.EMFILE, -constants.errno.ENFILE])

/** Which of a walker's openat(2) fail, and how: for a while, as where there are too few descriptors, or a server does not answer. */
export interface FailingOpens {
  /** -errno, negative. */
  readonly error: number
  /** How many do. */
  readonly count: number
  /** How many do not before the first that does. */
  readonly after: number
  /** One in so many does from then on. */
  readonly oneIn: number
}

/** Counts the openat(2) calls of all walkers, from {@link begin} on. */
export class OpenFailures {
  readonly #failing: FailingOpens
  #begun = false
  #opened = 0
  #failed = 0

  constructor(failing: FailingOpens) {
    this.#failing = failing
  }

  /** Until now none fails. */
  begin(): void {
    this.#begun = true
  }

  /** Whether as many have failed as are to. */
  get isOver(): boolean {
    return this.#failed >= this.#failing.count
  }

  /** From now on none does. */
  end(): void {
    this.#begun = false
  }

  /** What a call that opens nothing gives: 0, or -errno. */
  nextOfAny(): number {
    return OF_OPENS_ALONE.has(this.#failing.error) ? 0 : this.next()
  }

  /** What the next openat(2) gives: 0, or -errno. */
  next(): number {
    const { error, count, after, oneIn } = this.#failing
    if (!this.#begun || this.#failed >= count) return 0
    const index = this.#opened++ - after
    if (index < 0 || index % oneIn !== 0) return 0
    this.#failed++
    return error
  }
}
