import type { Directory } from '../tree/directory.ts'
import type { PollBudget } from './poll_budget.ts'

/** ms for which a directory is hot after something has changed in it. */
const HOT_MS = 60_000

/** The most hot directories: the time to sort them is the budget's too. */
const MOST_HOT = 1000

/** ms: a change is taken to be as old as this at least. */
const YOUNGEST_MS = 250

/** Moments, by the clock that never goes back. */
interface Heat {
  changedAt: number
  lookedAt: number
}

/**
 * Chooses what a poll with a budget looks at: directories that have changed lately, which are hot, and all others in turn, a round after the other. A directory is so
 * looked at again after a round at the latest. Where there are many hot ones, those come first that have changed last.
 */
export class PollRound {
  readonly #budget: PollBudget
  // The directories; nobody has looked at the first one for longest.
  readonly #turns = new Set<Directory>()
  // The first one's change is the oldest.
  readonly #hot = new Map<Directory, Heat>()
  // Too large to be hot: while one of these is looked at, others that have changed would wait.
  readonly #large = new WeakSet<Directory>()
  // How many turns the round still has.
  #left = 0
  #beganAt = 0
  // ms: what the round has cost so far, and what the last one did; and how long the last one took.
  #spent = 0
  #cost = 0
  #took = 0
  // ms: the last look.
  #lookTook = 0

  constructor(budget: PollBudget) {
    this.#budget = budget
  }

  /**
   * Returns ms after which a change has been found, wherever that is, without the time between two polls. Hot directories may take half of the budget.
   *
   * @param directories the number of all directories
   * @param interval ms from the end of a poll to the next
   */
  longest(directories: number, interval: number): number {
    const cost = Math.max(this.#cost, directories * this.#budget.perDirectory)
    const spending = 2 * cost * this.#budget.slowdown(interval + this.#lookTook)
    return Math.max(spending, this.#took) + 2 * this.#lookTook
  }

  /** True: each directory had its turn since the round began. */
  get isOver(): boolean {
    return this.#left <= 0
  }

  /** Begins a round, of these directories: known ones keep their places. */
  begin(directories: Iterable<Directory>, now: number): void {
    if (this.#turns.size > 0) [this.#cost, this.#took] = [this.#spent, now - this.#beganAt]
    const all = new Set(directories)
    for (const each of this.#turns) if (!all.has(each)) this.#turns.delete(each)
    for (const each of all) this.#turns.add(each)
    this.#left = this.#turns.size
    this.#spent = 0
    this.#beganAt = now
  }

  /** Returns the directories to be looked at now. `isThere`: false for a directory that is known no more, which has no turn. */
  next(now: number, isThere: (directory: Directory) => boolean): Directory[] {
    this.#budget.earn(now)
    for (const [directory, { changedAt }] of this.#hot)
      if (now - changedAt > HOT_MS || this.#hot.size > MOST_HOT || !isThere(directory))
        this.#hot.delete(directory)
    const urgency = ({ changedAt, lookedAt }: Heat) =>
      (now - lookedAt) / Math.max(YOUNGEST_MS, now - changedAt) ** 2
    const byUrgency = [...this.#hot].sort(([, a], [, b]) => urgency(b) - urgency(a))
    const hot = byUrgency.slice(0, this.#budget.mayLookAt('hot'))
    for (const [, heat] of hot) heat.lookedAt = now
    const turns = this.#take(this.#budget.mayLookAt('turn'), isThere)
    const all = new Set([...hot.map(([directory]) => directory), ...turns])
    for (const each of all) this.#lookedAt(each)
    return [...all]
  }

  /** Notes a look: the number of entries that each directory has. `took`, `cpu`: ms, of a clock and of a core. */
  note(looked: ReadonlyMap<Directory, number>, took: number, cpu: number): void {
    this.#lookTook = took
    for (const [directory, entries] of looked) {
      const share = this.#hot.has(directory) ? 'hot' : 'turn'
      const cost = this.#budget.spend(share, entries, cpu / looked.size)
      if (share === 'turn') this.#spent += cost
      if (this.#budget.isTooDearForHot(cost)) this.#large.add(directory)
      else this.#large.delete(directory)
      this.#lookedAt(directory)
    }
  }

  /** Notes that something has changed in a directory. */
  heat(directory: Directory, now: number): void {
    this.#hot.delete(directory)
    if (!this.#large.has(directory)) this.#hot.set(directory, { changedAt: now, lookedAt: now })
  }

  #take(count: number, isThere: (directory: Directory) => boolean): Directory[] {
    const taken: Directory[] = []
    for (const each of this.#turns) {
      if (taken.length >= count || this.isOver) break
      this.#left--
      if (isThere(each)) taken.push(each)
      else this.#turns.delete(each)
    }
    return taken
  }

  #lookedAt(directory: Directory): void {
    this.#turns.delete(directory)
    this.#turns.add(directory)
  }
}
