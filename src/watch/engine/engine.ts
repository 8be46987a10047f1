import type { EventBatch } from '../../inotify/batch.ts'
import { TaskQueue } from '../../task_queue.ts'
import type { InotifyListener } from '../events/inotify_source.ts'
import type { Settings } from '../options.ts'
import type { Coverage } from '../report/coverage.ts'
import type { WatchListener } from '../report/reporter.ts'
import { closedError } from '../report/watch_error.ts'
import type { WatchSystem } from '../system.ts'
import type { Believed } from './believed.ts'
import { coverageOf, uncoveredLinks } from './coverage.ts'
import { RootSet } from './root_set.ts'
import { writeSnapshot } from './saver.ts'
import { type Wired, wire } from './wiring.ts'

// A look may bring up more to be looked at, without end while others write: the rest is for the next task.
const MOST_ROUNDS = 8

/** The watched paths, and all that happens to them. Tasks that change the beliefs run one at a time. */
export class Engine implements InotifyListener {
  /** The roots, for the caller that adds and removes them. */
  readonly rootSet: RootSet
  readonly #queue = new TaskQueue(() => this.#afterEach())
  readonly #rooms: Wired
  #closed = false
  // True: the task at hand leaves nothing to be done, as most events.
  #isQuiet = false
  // The tree's revision when all rooms were asked last.
  #reviewed = -1

  constructor(settings: Settings, system: WatchSystem, listener: WatchListener) {
    this.#rooms = wire({
      settings,
      system,
      queue: this.#queue,
      mountWatch: system.watchMounts((points, vacant) => void this.#lookAtMounts(points, vacant)),
      listener,
      inotifyListener: this,
    })
    this.rootSet = new RootSet(this.#rooms)
  }

  /** Replaces the ignores. Everything is looked through: entries hidden by now are told to be gone, and those shown are told as new. */
  setIgnores(ignores: Settings['ignores']): Promise<void> {
    return this.#queue.run(async () => {
      this.#assertOpen()
      const { rules, forest, pending, files } = this.#rooms
      const tellers = files.tellers()
      rules.replaceIgnores(ignores)
      files.reportTurned(tellers, 'delete')
      for (const root of forest.standing()) {
        // A poll that is under way has listed by the ignores of before.
        root.outdate()
        if (root.isPresent && root.top !== undefined) pending.work.list(root.top)
      }
      await this.#drain()
      files.reportTurned(tellers, 'create')
    })
  }

  /** Resolves when every change made before this call has been told. Rejects with EBADF if closed before that. */
  async sync(): Promise<void> {
    this.#assertOpen()
    await this.#rooms.settle.sync()
    this.#rooms.reporter.flush()
    this.#assertOpen()
  }

  /** Resolves when all that the kernel had queued before this call has been told, but for what `settle` holds back. */
  queued(): Promise<void> {
    return this.#rooms.inotify.barrier()
  }

  /** Writes what has been told to a file. Rejects if that cannot be written, and with EBADF if closed before that. */
  async save(path: string): Promise<void> {
    await this.sync()
    await this.#queue.run(async () => {
      this.#assertOpen()
      // Tells what was held back behind the sync().
      this.#rooms.reporter.flush()
      await writeSnapshot(path, this.#rooms)
    })
    this.#assertOpen()
  }

  coverage(): Coverage[] {
    const { tree, links, relayed, asked, byPath } = this.#rooms
    const uncovered = uncoveredLinks(links.refused(), tree)
    const { beginning } = this.rootSet
    return [...asked].flatMap((path) => {
      const root = beginning?.path === path ? beginning : byPath.get(path)
      if (root === undefined) return []
      root.dropMounts(tree)
      const isThere = root.isPresent || root === beginning
      return coverageOf(root, isThere, uncovered, this.#rooms, relayed.why)
    })
  }

  /** The paths of the roots, also of those that are missing. */
  get roots(): Iterable<string> {
    return this.#rooms.byPath.keys()
  }

  /** The entries that are believed to be there. */
  get believed(): Believed {
    return this.#rooms.believed
  }

  /** Returns true if an entry has been found at a path, and its 'create' waits to be reported. */
  holdsCreate(path: string): boolean {
    return this.#rooms.reporter.holdsCreate(path)
  }

  /** Closes the engine: nothing is told after the call. */
  async close(): Promise<void> {
    const { reporter, overflowRecovery, forest, files, rescan, poller, polls, settle, inotify, relayed } =
      this.#rooms
    const { makers, mountWatch } = this.#rooms
    this.#closed = true
    makers?.close()
    relayed.close()
    this.rootSet.close()
    reporter.stop()
    overflowRecovery.stop()
    mountWatch.close()
    forest.close()
    files.close()
    const walks = [rescan.close(), poller.close()]
    const stopped = [...walks, polls.stop(), settle.stop()]
    await inotify.close()
    await Promise.all(stopped)
    await this.#queue.idle()
  }

  /** See {@link InotifyListener}, as all that follows. */
  async events(batch: EventBatch, start: number, end: number): Promise<void> {
    const { events, rootMonitor, links, pathWatches, reporter } = this.#rooms
    await this.#queue.run(async () => {
      await events.handle(batch, start, end, (top, mask) => rootMonitor.onGone(top, mask))
      const hints = pathWatches.collect(batch, start, end)
      this.#isQuiet = hints.size === 0 && this.#isSettled
      if (hints.size === 0) return
      await rootMonitor.takeEvents(hints)
      links.take(hints)
    })
    await reporter.room()
  }

  overflow(): Promise<void> {
    return this.#queue.run(async () => {
      this.#rooms.overflowRecovery.onOverflow()
      this.#rooms.links.onOverflow()
    })
  }

  recover(): Promise<void> {
    return this.#rooms.overflowRecovery.recover()
  }

  failed(error: Error): void {
    this.#rooms.reporter.broken(error)
  }

  async #lookAtMounts(points: readonly string[], vacant: readonly string[]): Promise<void> {
    const { rootMonitor, submounts, reporter, pollScope, polls } = this.#rooms
    rootMonitor.noteUnmounted(vacant)
    const look = this.#queue.run(async () => {
      await rootMonitor.onMounts(points)
      await submounts.onMounts(points)
    })
    // No task asks the server of what is polled: a poll does.
    const poll = look.then(() => (pollScope.isNeeded() ? polls.now() : undefined))
    await poll.catch((error) => reporter.trouble(error))
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError()
  }

  /** Does what every task may leave to be done: removes unused watches, looks at doubtful entries, arms the polls. */
  async #afterEach(): Promise<void> {
    const { pending, coveredRoots, forest, rootMonitor, links, tree, inotify, polls, settle } = this.#rooms
    const isQuiet = this.#isQuiet
    this.#isQuiet = false
    if (isQuiet) return tree.trim()
    links.takeMoves()
    if (!this.#closed && pending.work.size > 0) await this.#drain()
    this.#reviewed = tree.revision
    forest.forsakeVacated()
    coveredRoots.review()
    for (const root of forest.takeReleased()) await rootMonitor.reattach(root, 'rescan')
    if (!this.#closed) await this.#rooms.submounts.review()
    if (!this.#closed && pending.work.size > 0) await this.#drain()
    tree.trim()
    if (this.#closed) return
    inotify.retire(tree.takeRetired())
    polls.arm()
    settle.arm()
  }

  /** True: {@link #afterEach} would find nothing to do. No directory has come or gone, and neither a doubt, a link that has moved, an entry that is sought nor an idle poll waits. */
  get #isSettled(): boolean {
    const { pending, tree, polls, coveredRoots, submounts } = this.#rooms
    const isSame = tree.revision === this.#reviewed && tree.movedLinks.length === 0
    const isSought = coveredRoots.lacksSome || submounts.lacksSome || polls.isIdle
    return isSame && !isSought && !pending.isUnsettled
  }

  /** Lists, looks at and follows what a task has brought up. */
  async #drain(): Promise<void> {
    const { pending, followUp, links, reporter } = this.#rooms
    const { work } = pending
    try {
      for (let i = 0; i < MOST_ROUNDS && work.size > 0; i++) {
        await followUp.list()
        const { links: seen, since } = work.takeLinks()
        if (seen.size > 0) await links.follow(seen, since)
      }
    } catch (error) {
      reporter.trouble(error)
    }
  }
}
