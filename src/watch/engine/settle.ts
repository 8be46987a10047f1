import { CoalescedTask } from '../../coalesced_task.ts'
import type { EngineContext } from './context.ts'
import type { Relayed } from './relayed.ts'
import { RepeatingTask } from './repeating_task.ts'

// The halves of a rename were measured 0.44 ms apart at most, with a read in between at the worst.
const SETTLING_MS = 10

// The most times that sync() looks again at what is in doubt.
const MOST_LOOKS = 8

/** ms from one try to the next to look at what has failed. */
const RETRY_MS = 500
/** A retry waits this many times as long as the last one took: a slow server is not to hold up all that is watched beside it. */
const REST = 10

/**
 * Looks at dirty entries: doubts left by events a little later, failures that may pass again and again until a look
 * works, and all of them at once for sync(), with all that no event tells. Nothing wakes up while there is none.
 */
export class Settle {
  readonly #context: EngineContext
  readonly #relayed: Relayed
  readonly #settling: RepeatingTask
  readonly #retries: RepeatingTask
  #tookMs = 0
  readonly #syncing = new CoalescedTask(() => this.#sync())

  constructor(context: EngineContext, relayed: Relayed) {
    this.#context = context
    this.#relayed = relayed
    const { pending } = context
    this.#settling = new RepeatingTask(context, {
      every: () => SETTLING_MS,
      needed: () => pending.isUnsettled,
      run: () => this.#settle(),
    })
    this.#retries = new RepeatingTask(context, {
      every: () => Math.max(RETRY_MS, REST * this.#tookMs),
      needed: () => pending.failed.size > 0,
      run: () => this.#retry(),
    })
  }

  /** Starts the timers: events may have left something open, or a look may have failed. */
  arm(): void {
    this.#settling.arm()
    this.#retries.arm()
  }

  /** Resolves when every change made before this call has been reported. */
  sync(): Promise<void> {
    return this.#syncing.run()
  }

  async stop(): Promise<void> {
    await Promise.all([this.#settling.stop(), this.#retries.stop()])
  }

  async #sync(): Promise<void> {
    const { inotify } = this.#context
    let overflows = 0
    // The kernel tells that watches were removed; of too many at once it tells by an overflow.
    for (let i = 0; i === 0 || (i < MOST_LOOKS && inotify.overflows !== overflows); i++) {
      overflows = inotify.overflows
      await this.#catchUp()
    }
  }

  async #catchUp(): Promise<void> {
    const { system, inotify, mountWatch, pending, polls, queue, rootMonitor } = this.#context
    const startedAt = system.clock.now()
    const overflows = inotify.overflows
    await inotify.barrier()
    if (!pending.isUnsettled && inotify.overflows === overflows) pending.consistentUntil = startedAt
    await this.#lookUntilSettled()
    // Before its next try, nobody else tells what works again by now: a look that was under way may have failed, too.
    await this.#retries.now()
    await this.#lookUntilSettled()
    if (!(await this.#relayed.sync())) await polls.now()
    // The look at a hint, or a poll, may have come while a directory was elsewhere.
    await this.#lookUntilSettled()
    // News of the mount table that came meanwhile are looked at before what comes next.
    await mountWatch.settled()
    // No event tells that an ancestor was renamed, or that a directory was removed in which some process still is.
    await queue.run(() => rootMonitor.checkIdentity())
    await inotify.barrier()
  }

  /** Looks until no doubt is left. A look may raise another: of what is above, or was moved meanwhile. While others write, there may always be one. */
  async #lookUntilSettled(): Promise<void> {
    const { rechecks } = this.#context.pending
    for (let i = 0; i === 0 || (i < MOST_LOOKS && !rechecks.isEmpty); i++) await this.#settling.now()
  }

  async #settle(): Promise<void> {
    const { system, followUp, inotify, queue, pending } = this.#context
    if (!pending.isUnsettled) return
    const release = followUp.hold()
    const startedAt = system.clock.now()
    const overflows = inotify.overflows
    await inotify.barrier()
    const resolve = await queue.run(async () => {
      await release()
      return await followUp.lookAgain()
    })
    if (inotify.overflows === overflows) pending.consistentUntil = startedAt
    if (resolve === undefined) return
    await inotify.barrier()
    await queue.run(resolve)
  }

  async #retry(): Promise<void> {
    const { system, queue, pending } = this.#context
    const { failed, work } = pending
    if (failed.size === 0) return
    let [began, tried] = [0, 0]
    // The work is looked at after this task, as all work is.
    await queue.run(async () => {
      began = system.clock.elapsed()
      tried = failed.size
      work.takeAll(failed)
    })
    // While a try works for some, the next one does not wait longer.
    this.#tookMs = failed.size < tried ? 0 : system.clock.elapsed() - began
  }
}
