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

  /** Has a watch added to directories that have changed, if they have none. Call it within a task. */
  give(changed: Iterable<Directory>): void {
    const { watchLimit, forest, system, pending } = this.#context
    const wanting = [...changed].filter((each) => each.mount.leftover.has(each)).slice(0, MOST)
    const now = system.clock.elapsed()
    if (watchLimit === undefined || wanting.length === 0 || now < this.#nextAt) return
    this.#nextAt = now + REST_MS
    const tops = forest.standing().flatMap(({ top }) => top ?? [])
    const quiet = watchLimit.isFull ? watchLimit.quiet(tops, wanting.length, now) : wanting
    if (watchLimit.isFull) for (const each of quiet) this.#take(each)
    for (const each of wanting.slice(0, quiet.length)) pending.work.list(each)
  }

  /** Takes the watch from a directory, which is polled from now on. */
  #take(directory: Directory): void {
    const { watchLimit, tree, pending } = this.#context
    const { mount } = directory
    tree.clearWatch(directory)
    if (watchLimit !== undefined) mount.uncover(directory, watchLimit.errorOf(directory))
    // Events that the kernel has queued are dropped: polls tell of the same. Before those it was quiet, and nothing is told twice.
    mount.leftover.set(directory, pending.consistentUntil - CLOCK_SLACK_MS)
  }
}
