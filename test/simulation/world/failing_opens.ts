import { constants } from 'node:os'

const OF_OPENS_ALONE = new Set([-constants.errno.EMFILE, -constants.errno.ENFILE])

/**
 * The openat(2) calls of walkers that fail for a while, as with too few descriptors or a server that does not
 * answer.
 */
export interface FailingOpens {
  /** -errno, negative. */
  readonly error: number
  /** The number of calls that fail. */
  readonly count: number
  /** The number of calls that succeed before the first failure. */
  readonly after: number
  /** One call in `oneIn` fails from the first failure on. */
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

  /** Lets calls fail from now on. */
  begin(): void {
    this.#begun = true
  }

  /** Returns if all failures have happened. */
  get isOver(): boolean {
    return this.#failed >= this.#failing.count
  }

  /** Lets no call fail from now on. */
  end(): void {
    this.#begun = false
  }

  /** Returns the result of a call that opens nothing: 0, or -errno. */
  nextOfAny(): number {
    return OF_OPENS_ALONE.has(this.#failing.error) ? 0 : this.next()
  }

  /** Returns the result of the next openat(2): 0, or -errno. */
  next(): number {
    const { error, count, after, oneIn } = this.#failing
    if (!this.#begun || this.#failed >= count) return 0
    const index = this.#opened++ - after
    if (index < 0 || index % oneIn !== 0) return 0
    this.#failed++
    return error
  }
}
