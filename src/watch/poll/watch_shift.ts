import { CLOCK_SLACK_MS } from '../clock.ts'
import type { Directory } from '../tree/directory.ts'
import type { PollContext } from './context.ts'

/** The least ms between two searches for quiet directories, which go through all. */
const REST_MS = 10_000

/** The most watches that are given to other directories at a time. */
const MOST = 64

/** Gives the watches of quiet directories to those in which polls find changes, where the user has set a limit of watches. */
export class WatchShift {
  readonly #context: PollContext
  #nextAt = 0

  constructor(context: PollContext) {
    this.#context = context
  }

  /**
   * Has a watch added to directories that have changed, if they have none. Call it within a task.
   *
   * @param toldUntil ms since the epoch: the events of what was written before have been taken in
   */
  give(changed: Iterable<Directory>, toldUntil: number): void {
    const { watchLimit, forest, system, pending, inotify } = this.#context
    // After lost events, directories that seem quiet need not be.
    if (forest.standing().some(({ isOverflown }) => isOverflown)) return
    const wanting = [...changed].filter((each) => each.mount.leftover.has(each)).slice(0, MOST)
    const now = system.clock.elapsed()
    if (watchLimit === undefined || wanting.length === 0 || now < this.#nextAt) return
    this.#nextAt = now + REST_MS
    const tops = forest.standing().flatMap(({ top }) => top ?? [])
    const quiet = watchLimit.isFull ? watchLimit.quiet(tops, wanting.length, now) : wanting
    if (watchLimit.isFull) {
      const given = quiet.map(({ wd }) => wd)
      for (const each of quiet) this.#take(each, toldUntil)
      // Before others are added: the kernel has no more than the limit at any time.
      inotify.retire(given)
    }
    for (const each of wanting.slice(0, quiet.length)) pending.work.list(each)
  }

  /** Takes the watch from a directory, which is polled from now on. */
  #take(directory: Directory, toldUntil: number): void {
    const { watchLimit, tree } = this.#context
    const { mount } = directory
    tree.clearWatch(directory)
    if (watchLimit !== undefined) mount.uncover(directory, watchLimit.errorOf(directory))
    // Events that the kernel has queued are dropped: polls tell of the same. Before those it was quiet, and nothing is told twice.
    mount.leftover.set(directory, toldUntil - CLOCK_SLACK_MS)
  }
}
