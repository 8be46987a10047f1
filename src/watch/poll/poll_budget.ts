/** Calls for a directory besides those for its entries: it is opened twice, asked about, listed until there is no more, and closed. */
const PER_DIRECTORY = 8

/** Calls for an entry: where the kernel may remember a name for long, it is looked up anew, and then asked about. */
const PER_ENTRY = 2

/** Calls for an entry if files are read: small ones in one piece. */
const PER_CONTENT = 8

/** ms that a look at a directory is taken to cost before there was one. */
const FIRST_GUESS = 10

/** The ms that are saved up at most, for a moment at which there is much to be looked at. */
const MOST_SAVED = 1000

/** The newest look counts for so much in the average. */
const NEWEST = 0.002

export interface Budget {
  /** A share of a core. */
  readonly cpu: number
  /** System calls a second. */
  readonly requests: number
}

/** Directories that have changed lately, or those whose turn it is. */
export type Share = 'hot' | 'turn'

/**
 * The account of polls that have a budget, in ms: a look costs the time in which the budget allows for that look. Directories that have changed lately may spend half
 * of it, and others have what is left.
 */
export class PollBudget {
  readonly #budget: Budget
  readonly #perEntry: number
  readonly #saved = { hot: 0, turn: 0 }
  #earnedAt: number
  /** ms that a look at a directory costs whose turn it is, as of late. */
  perDirectory: number
  #looks = 0

  /** @param now ms of a clock that never goes back, as all others here */
  constructor(budget: Budget, readsContents: boolean, now: number) {
    this.#budget = budget
    this.#perEntry = readsContents ? PER_CONTENT : PER_ENTRY
    this.#earnedAt = now
    this.perDirectory = Math.max(FIRST_GUESS, this.#costOf(PER_DIRECTORY, 0))
  }

  /** Returns how many times as long it takes to spend something if so many ms are between polls: no more is saved up than for a second. */
  slowdown(between: number): number {
    return Math.max(1, between / MOST_SAVED)
  }

  /** Earns what the time since the last call allows. */
  earn(now: number): void {
    const earned = now - this.#earnedAt
    this.#earnedAt = now
    this.#saved.hot = Math.min(MOST_SAVED / 2, this.#saved.hot + earned / 2)
    this.#saved.turn = Math.min(MOST_SAVED, this.#saved.turn + earned)
  }

  /** Returns how many directories may be looked at: none while too much was spent, or at least one. */
  mayLookAt(share: Share): number {
    const saved = this.#saved[share]
    if (saved <= 0) return 0
    return this.#looks > 0 ? Math.max(1, Math.floor(saved / this.perDirectory)) : 1
  }

  /** Returns true if a look that has cost so many ms would leave nothing for others that have changed lately. */
  isTooDearForHot(cost: number): boolean {
    return cost > MOST_SAVED / 2
  }

  /** Notes a look at a directory with so many entries. `cpu`: ms of a core. Returns the cost in ms. */
  spend(share: Share, entries: number, cpu: number): number {
    const cost = this.#costOf(PER_DIRECTORY + entries * this.#perEntry, cpu)
    this.#saved.turn -= cost
    if (share === 'hot') this.#saved.hot -= cost
    // The first looks count alike: that at the root may be like no other.
    else this.perDirectory += (cost - this.perDirectory) * Math.max(NEWEST, 1 / ++this.#looks)
    return cost
  }

  #costOf(calls: number, cpu: number): number {
    return Math.max((calls * 1000) / this.#budget.requests, cpu / this.#budget.cpu)
  }
}
