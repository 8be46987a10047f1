import type { Scanner } from '../diff/snapshot/scanner.ts'
import type { Snapshot } from '../diff/snapshot/snapshot.ts'
import type { Listing } from '../scan/listing.ts'
import type { TreeWalker } from '../system.ts'
import type { Directory } from '../tree/directory.ts'
import type { PollContext } from './context.ts'
import { POLL, type PollScope } from './poll_scope.ts'

/**
 * Polls by the walker's thread alone while nothing changes: JavaScript sleeps. It owns the listing that
 * has ended it, which is the first of the next poll, and does not know whether there is more to be done.
 */
export class IdlePoll {
  readonly #context: PollContext
  readonly #scope: PollScope
  readonly #walker: TreeWalker
  readonly #scanner: Scanner
  #running: { isInterrupted: boolean; ended: Promise<unknown> } | undefined
  // The listing that has ended it, and its directories.
  #found: { listings: Listing[]; directories: readonly Directory[] } | undefined

  constructor(context: PollContext, scope: PollScope, walker: TreeWalker, scanner: Scanner) {
    this.#context = context
    this.#scope = scope
    this.#walker = walker
    this.#scanner = scanner
  }

  /** Resolves with true if something has changed. */
  start(): Promise<boolean> {
    const running = { isInterrupted: false, ended: Promise.resolve() as Promise<unknown> }
    const found = this.#run(running)
    running.ended = found.catch(() => {})
    this.#running = running
    return found
  }

  /** Ends a poll that is under way soon, as if it had found nothing. */
  interrupt(): void {
    if (this.#running === undefined) return
    this.#running.isInterrupted = true
    this.#walker.cancel()
  }

  /** Resolves when the walker is free. */
  async stop(): Promise<void> {
    this.interrupt()
    await this.#running?.ended
  }

  /** Drops the last finding, which is not what is there now. */
  forget(): void {
    this.#found = undefined
  }

  /** Returns the listing that has ended it, if that was of these directories. */
  take(directories: readonly Directory[]): Snapshot | undefined {
    const found = this.#found
    this.#found = undefined
    const isSame = found?.directories.length === directories.length
    return isSame && directories.every((each, i) => each === found.directories[i])
      ? this.#scanner.snapshotOf(directories, found.listings, POLL)
      : undefined
  }

  async #run(running: { isInterrupted: boolean }): Promise<boolean> {
    const { pollInterval, settings } = this.#context
    try {
      const directories = this.#scope.directories().bases
      const requests = directories.map((base) => ({
        ...this.#scanner.requestFor(base, POLL),
        statOnly: this.#scope.statsOnly(base),
      }))
      const listings = await this.#walker.pollIdle(requests, pollInterval.rest, settings.interval)
      if (running.isInterrupted) return false
      pollInterval.settle()
      // Polls have become too slow to go on like this.
      if (listings.length === 0) return false
      // The finding replaces all that was known: so it must be of all directories.
      const isWhole = directories.length === 1 || !requests.some(({ statOnly }) => statOnly)
      if (isWhole) this.#found = { listings, directories }
      return true
    } finally {
      this.#running = undefined
    }
  }
}
