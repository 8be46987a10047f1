import { CoalescedTask } from '../../coalesced_task.ts'
import type { MountWatch } from '../../mounts/mount_watch.ts'
import type { TaskQueue } from '../../task_queue.ts'
import type { FollowUp } from '../events/follow_up.ts'
import type { InotifySource } from '../events/inotify_source.ts'
import type { Pending } from '../pending/pending.ts'
import type { Reporter } from '../report/reporter.ts'
import type { RootMonitor } from '../roots/root_monitor.ts'
import type { WatchSystem } from '../system.ts'
import { RepeatingTask } from './repeating_task.ts'
import type { Retry } from './retry.ts'

export interface SettleParts {
  system: Pick<WatchSystem, 'clock'>
  queue: TaskQueue
  pending: Pending
  followUp: FollowUp
  rootMonitor: RootMonitor
  inotify: InotifySource
  mountWatch: Pick<MountWatch, 'settled'>
  polls: RepeatingTask
  retry: Pick<Retry, 'now'>
  reporter: Reporter
}

// The halves of a rename were measured 0.44 ms apart at most, with a read in between at the worst.
const SETTLING_MS = 10

// How often sync() looks again at what is in doubt.
const MOST_LOOKS = 8

/** What events have left open is settled: a little later, or at once for sync(), with all that no event tells. */
export class Settle {
  readonly #parts: SettleParts
  readonly #schedule: RepeatingTask
  readonly #syncing = new CoalescedTask(() => this.#sync())

  constructor(parts: SettleParts) {
    this.#parts = parts
    const { system, reporter, followUp } = parts
    this.#schedule = new RepeatingTask({
      every: () => SETTLING_MS,
      clock: system.clock,
      failed: (error) => reporter.trouble(error),
      needed: () => followUp.isUnsettled,
      run: () => this.#settle(),
    })
  }

  /** Something may have been left open. */
  arm(): void {
    this.#schedule.arm()
  }

  /** Every change made before this call has been reported when it resolves. */
  sync(): Promise<void> {
    return this.#syncing.run()
  }

  stop(): Promise<void> {
    return this.#schedule.stop()
  }

  async #sync(): Promise<void> {
    const { inotify } = this.#parts
    let overflows = 0
    // The kernel tells that watches were removed, and of too many at once by an overflow.
    for (let i = 0; i === 0 || (i < MOST_LOOKS && inotify.overflows !== overflows); i++) {
      overflows = inotify.overflows
      await this.#catchUp()
    }
  }

  async #catchUp(): Promise<void> {
    const { system, followUp, inotify, mountWatch, pending, polls, queue, retry, rootMonitor } = this.#parts
    const startedAt = system.clock.now()
    const overflows = inotify.overflows
    await inotify.barrier()
    if (!followUp.isUnsettled && inotify.overflows === overflows) pending.consistentUntil = startedAt
    await this.#lookUntilSettled()
    // What works again by now, nothing else tells before the next try: a look that was under way may have failed, too.
    await retry.now()
    await this.#lookUntilSettled()
    await polls.now()
    // What was heard of the mount table in the meantime is looked at before what comes next.
    await mountWatch.settled()
    // Nothing tells that an ancestor was renamed, or that a directory was removed in which some process still is.
    await queue.run(() => rootMonitor.checkIdentity())
    await inotify.barrier()
  }

  /** A look may raise another doubt: of what is above, or of what was moved meanwhile. While others write, there may always be one. */
  async #lookUntilSettled(): Promise<void> {
    const { rechecks } = this.#parts.pending
    for (let i = 0; i === 0 || (i < MOST_LOOKS && !rechecks.isEmpty); i++) await this.#schedule.now()
  }

  async #settle(): Promise<void> {
    const { system, followUp, inotify, queue, pending } = this.#parts
    if (!followUp.isUnsettled) return
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
}
