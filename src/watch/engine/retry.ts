import type { TaskQueue } from '../../task_queue.ts'
import type { Pending } from '../pending/pending.ts'
import type { Reporter } from '../report/reporter.ts'
import type { WatchSystem } from '../system.ts'
import type { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { RepeatingTask } from './repeating_task.ts'

export interface RetryParts {
  system: Pick<WatchSystem, 'clock'>
  queue: TaskQueue
  tree: Tree
  pending: Pending
  reporter: Reporter
}

/** ms from one try to the next. */
const RETRY_MS = 500
/** How many times what a try has taken the next one waits: a server that keeps its askers waiting is not to hold up all that is watched beside it. */
const REST = 10

/** What has failed for a reason that may pass is listed, or followed, again until it does: see {@link Pending.failed}. Nothing wakes up while there is none. */
export class Retry {
  readonly #parts: RetryParts
  readonly #schedule: RepeatingTask
  #tookMs = 0

  constructor(parts: RetryParts) {
    this.#parts = parts
    const { system, pending, reporter } = parts
    this.#schedule = new RepeatingTask({
      every: () => Math.max(RETRY_MS, REST * this.#tookMs),
      clock: system.clock,
      failed: (error) => reporter.trouble(error),
      needed: () => pending.failed.size > 0,
      run: () => this.#retry(),
    })
  }

  /** Something may have failed. */
  arm(): void {
    this.#schedule.arm()
  }

  /** One try that begins after this call, whether it fails again or not. */
  now(): Promise<void> {
    return this.#schedule.now()
  }

  stop(): Promise<void> {
    return this.#schedule.stop()
  }

  async #retry(): Promise<void> {
    const { system, queue, tree, pending } = this.#parts
    if (pending.failed.size === 0) return
    let [began, tried] = [0, 0]
    await queue.run(async () => {
      began = system.clock.elapsed()
      tried = pending.failed.size
      const { directories, links } = pending.failed.take()
      for (const [directory, since] of directories)
        if (tree.isAttached(directory)) pending.work.list(directory, since)
      for (const [directory, names] of links) if (tree.isAttached(directory)) this.#follow(directory, names)
    })
    // While it works again for some, it goes on.
    this.#tookMs = pending.failed.size < tried ? 0 : system.clock.elapsed() - began
  }

  /** Where they lead, and what is there: the one does not bring up the other where it is seen to be what it was. */
  #follow(directory: Directory, links: ReadonlyMap<string, number>): void {
    const { work } = this.#parts.pending
    for (const [name, since] of links) {
      work.look(directory, name)
      work.follow(directory, name, since)
    }
  }
}
