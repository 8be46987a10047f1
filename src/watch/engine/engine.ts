import { debuglog } from 'node:util'
import type { EventBatch } from '../../inotify/batch.ts'
import { TaskQueue } from '../../task_queue.ts'
import { warn } from '../../warning.ts'
import type { DiffOptions } from '../diff/diff_options.ts'
import { Rescan } from '../diff/rescan.ts'
import { EventHandler } from '../events/event_handler.ts'
import { InotifySource } from '../events/inotify_source.ts'
import { Translator } from '../events/translator.ts'
import { ABOUT_NAME, GONE } from '../events/watch_mask.ts'
import { WatchRelease } from '../events/watch_release.ts'
import type { Settings } from '../options.ts'
import { Pending } from '../pending/pending.ts'
import { PollInterval } from '../poll/poll_interval.ts'
import { Poller } from '../poll/poller.ts'
import type { Change } from '../report/change.ts'
import { Reporter } from '../report/reporter.ts'
import { Shortage } from '../report/shortage.ts'
import { asWatchError, closedError, isAbsence, staleMountError } from '../report/watch_error.ts'
import { Attacher } from '../roots/attach.ts'
import { type Coverage, coverageOf } from '../roots/coverage.ts'
import { Coverings } from '../roots/covering.ts'
import type { FileRoot } from '../roots/file_root.ts'
import { FileRoots } from '../roots/file_roots.ts'
import { FollowedLinks } from '../roots/followed_links.ts'
import { PathWatches } from '../roots/path_watches.ts'
import { Root } from '../roots/root.ts'
import { RootForest } from '../roots/root_forest.ts'
import { RootMonitor } from '../roots/root_monitor.ts'
import { rulesOf } from '../rules.ts'
import type { WatchSystem } from '../system.ts'
import { EntryCache } from '../tree/entry_cache.ts'
import { Tree } from '../tree/tree.ts'
import { OverflowRecovery } from './overflow_recovery.ts'
import { RepeatingTask } from './repeating_task.ts'
import { Settle } from './settle.ts'
import { Submounts } from './submounts.ts'

export interface EngineListener {
  /** Paths are keys: see name_key.ts. */
  changes(changes: Change[]): void
  /** Something is not as it should be, and the watching goes on. */
  trouble(error: unknown): void
  /** Events can no longer be read. */
  broken(error: Error): void
  /** Resolves when more changes are wanted. */
  room(): Promise<void>
}

// What is looked at may bring up something else. While others write there may always be more: what is left is for the next command.
const MOST_ROUNDS = 8

const trace = debuglog('inotify-bridge')

/** The watched paths, and all that happens to them. What changes what is believed is done one at a time. */
export class Engine {
  readonly #settings: Settings
  readonly #system: WatchSystem
  readonly #listener: EngineListener
  readonly #roots = new Map<string, Root>()
  readonly #tree: Tree
  readonly #pending: Pending
  readonly #translator: Translator
  readonly #queue = new TaskQueue(() => this.#afterEach())
  readonly #rescan: Rescan
  readonly #watches: WatchRelease
  readonly #events: EventHandler
  readonly #files: FileRoots
  readonly #links: FollowedLinks
  readonly #poller: Poller
  readonly #polls: RepeatingTask
  readonly #pace: PollInterval
  readonly #settle: Settle
  readonly #mountWatch: ReturnType<WatchSystem['watchMounts']>
  readonly #pathWatches = new PathWatches<Root>()
  readonly #forest: RootForest
  readonly #attacher: Attacher
  readonly #rootMonitor: RootMonitor
  readonly #overflowRecovery: OverflowRecovery
  readonly #reporter: Reporter
  #inotify: InotifySource | undefined
  // One whose first listing is under way: how far it has come, coverage() tells.
  #beginning: Root | undefined
  #closed = false

  constructor(settings: Settings, system: WatchSystem, listener: EngineListener) {
    this.#settings = settings
    this.#system = system
    this.#listener = listener
    const rules = rulesOf(settings)
    this.#tree = new Tree(new EntryCache(system.entryCacheSize))
    this.#pending = new Pending(this.#tree)
    const { rechecks, work } = this.#pending
    this.#translator = new Translator(this.#tree, rules, this.#pending)
    const { persistent } = settings
    const reporter = new Reporter(settings, system.clock, (changes) => listener.changes(changes))
    this.#reporter = reporter
    const [tree, queue] = [this.#tree, this.#queue]
    const failed = (error: unknown) => {
      if (this.#closed) return
      trace('%s', error)
      listener.trouble(error)
    }
    const watches = new WatchRelease({
      tree,
      inotify: () => this.#inotify,
      keeps: (wd) => files.has(wd) || links.has(wd) || this.#pathWatches.has(wd),
    })
    const coverings = new Coverings({ tree, rules, byPath: this.#roots })
    const forest = new RootForest({
      tree,
      coverings,
      translator: this.#translator,
      rules,
      pending: this.#pending,
      watches,
      reporter,
      byPath: this.#roots,
      ways: this.#pathWatches,
    })
    const shared = {
      settings,
      system,
      reporter,
      tree,
      queue,
      failed,
      persistent,
      rules,
      pending: this.#pending,
      translator: this.#translator,
      rechecks,
      work,
      inotify: () => this.#inotify,
      watching: () => this.#inotify?.watching,
      openInotify: () => this.#openInotify(),
      coverings,
      forest,
      ways: this.#pathWatches,
      // What a covered root covers, another looks after.
      roots: () =>
        this.#closed ? [] : [...this.#roots.values()].filter(({ coverer }) => coverer === undefined),
      options: (options: Partial<DiffOptions>) => this.#options(options),
      watches,
      retire: (wds: Iterable<number>) => watches.retire(wds),
      report: (changes: Change[]) => reporter.report(changes),
      trouble: (error: unknown) => listener.trouble(error),
      shortage: new Shortage((error) => listener.trouble(error)),
      room: () => listener.room(),
    }
    const rescan = new Rescan({
      ...shared,
      choose: (path) => attacher.chooseBelow(path),
      extended: (mount, parent) => forest.rootOf(tree.topOf(parent))?.mounts.add(mount),
    })
    const { looker } = rescan
    const files = new FileRoots({
      ...shared,
      inotify: () => this.#inotify?.inotify,
      lost: (file, how, source) => {
        for (const root of this.#rootsOf(file)) {
          rootMonitor.markLost(root, source)
          if (how === 'stale') root.absence = staleMountError(root.path)
        }
      },
      mayBeBack: async (file) => {
        for (const root of this.#rootsOf(file)) await rootMonitor.reattach(root, 'inotify')
      },
    })
    const links = new FollowedLinks({
      ...shared,
      rescan,
      looker,
      inotify: () => this.#inotify?.inotify,
      choose: (path) => attacher.chooseBelow(path),
    })
    const mountWatch = system.watchMounts((points) => {
      const looked = queue.run(() => submounts.look(points))
      looked.catch(failed)
    })
    const attacher = new Attacher({ ...shared, rescan, files, mountWatch })
    const events = new EventHandler({
      ...shared,
      rescan,
      looker,
      lost: (top) => {
        const root = forest.rootOf(top)
        if (root !== undefined) rootMonitor.markLost(root, 'inotify')
      },
    })
    const pace = new PollInterval(settings.interval, warnOfSlowPolls)
    const poller = new Poller({
      ...shared,
      pace,
      interval: settings.interval,
      events,
      rescan,
      files,
      links,
      replace: (root) => rootMonitor.reattach(root, 'poll'),
      // What is not ignored is surveyed level by level, each time.
      compares: !(rules.recursive && rules.hidesSome),
    })
    const rootMonitor = new RootMonitor({
      ...shared,
      looker,
      files,
      attacher,
      consistentUntil: () => overflowRecovery.consistentUntil,
    })
    const submounts = new Submounts({ ...shared, events, rootMonitor })
    const overflowRecovery = new OverflowRecovery({ ...shared, rescan, events, files, rootMonitor })
    this.#polls = new RepeatingTask({
      every: () => pace.rest,
      persistent,
      clock: system.clock,
      failed,
      needed: () => poller.isNeeded(),
      run: () => poller.poll(),
      pollIdle: () => poller.pollIdle(),
      interrupt: (isRunDue) => poller.interrupt(isRunDue),
    })
    this.#settle = new Settle({
      ...shared,
      events,
      rootMonitor,
      overflowRecovery,
      poll: () => this.#polls.now(),
    })
    this.#rescan = rescan
    this.#watches = watches
    this.#files = files
    this.#links = links
    this.#mountWatch = mountWatch
    this.#forest = forest
    this.#attacher = attacher
    this.#events = events
    this.#poller = poller
    this.#pace = pace
    this.#rootMonitor = rootMonitor
    this.#overflowRecovery = overflowRecovery
  }

  /**
   * Watches one more path; one that leads nowhere is lost until it does. Rejects with InotifyError: as it cannot be opened, listed or
   * watched, or EBADF.
   */
  add(path: string): Promise<void> {
    return this.#queue.run(async () => {
      this.#assertOpen()
      if (this.#roots.has(path)) return
      const root = new Root(path)
      this.#forest.forsakeLost(root)
      const { initial } = this.#settings
      const isTold = initial && !this.#forest.hasToldBelow(root)
      this.#beginning = root
      try {
        await this.#attacher.attach(root, initial && !isTold)
      } catch (error) {
        if (!isAbsence(error)) {
          this.#forget(root)
          throw asWatchError(error, path)
        }
        root.absence = asWatchError(error, path) as Error
      } finally {
        this.#beginning = undefined
      }
      this.#assertOpen()
      this.#roots.set(path, root)
      this.#forest.admit(root, isTold, initial)
    })
  }

  remove(path: string): Promise<void> {
    return this.#queue.run(async () => {
      const root = this.#roots.get(path)
      if (root === undefined) return
      this.#reporter.report(this.#translator.giveUp(this.#translator.pending))
      this.#forest.review()
      this.#roots.delete(path)
      for (const each of this.#forest.dismiss(root)) await this.#attacher.stand(each)
      this.#forget(root)
    })
  }

  /** Every change made before this call has been told when it resolves. Rejects with EBADF if closed before that. */
  async sync(): Promise<void> {
    this.#assertOpen()
    await this.#settle.sync()
    this.#reporter.flush()
    this.#assertOpen()
  }

  coverage(): Coverage[] {
    const beginning = this.#beginning === undefined ? [] : [this.#beginning]
    return [...this.#roots.values(), ...beginning].flatMap((root) => {
      root.dropMounts(this.#tree)
      const isThere = root.isPresent || root === this.#beginning
      return coverageOf(root, this.#tree, isThere, this.#pace.slowness, (base) =>
        this.#poller.statsOnly(base),
      )
    })
  }

  /** Nothing is told after the call. */
  async close(): Promise<void> {
    this.#closed = true
    this.#reporter.stop()
    this.#overflowRecovery.stop()
    this.#mountWatch.close()
    this.#files.close()
    const walks = [this.#rescan.close(), this.#poller.close()]
    const stopped = [...walks, this.#polls.stop(), this.#settle.stop()]
    await this.#inotify?.close()
    await Promise.all(stopped)
    await this.#queue.idle()
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError()
  }

  #options(options: Partial<DiffOptions>): DiffOptions {
    return {
      source: 'rescan',
      since: Number.POSITIVE_INFINITY,
      matchByName: false,
      baseline: false,
      statAll: false,
      fallBackToPolling: this.#settings.backend === 'auto',
      ...options,
    }
  }

  #openInotify(): void {
    if (this.#inotify !== undefined) return
    // Closing does not wait for what it cannot see.
    this.#assertOpen()
    const inotify = this.#system.openInotify({ persistent: this.#settings.persistent })
    this.#inotify = new InotifySource(inotify, this.#system, {
      events: async (batch, start, end) => {
        await this.#queue.run(() => this.#onEvents(batch, start, end))
        await this.#listener.room()
      },
      mark: async () => {
        if (this.#events.holdsBack) await this.#queue.run(() => this.#events.flush())
      },
      overflow: () =>
        this.#queue.run(async () => {
          this.#overflowRecovery.onOverflow()
          this.#events.onOverflow()
        }),
      recover: async () => {
        await this.#overflowRecovery.recover()
      },
      failed: (error) => this.#listener.broken(error),
    })
  }

  async #onEvents(batch: EventBatch, start: number, end: number): Promise<void> {
    await this.#events.handle(batch, start, end)
    await this.#files.take(batch, start, end)
    await this.#links.take(batch, start, end)
    const concerned = this.#pathWatches.collect(batch, start, end, ABOUT_NAME | GONE)
    if (concerned.size > 0) await this.#rootMonitor.checkIdentity(concerned)
  }

  #forget(root: Root): void {
    root.isPresent = false
    this.#attacher.detach(root)
    root.outdate()
  }

  #rootsOf(file: FileRoot): Root[] {
    return [...this.#roots.values()].filter((root) => root.file === file)
  }

  /** What a command has brought up to be listed, looked at or followed. */
  async #drain(): Promise<void> {
    const { work } = this.#pending
    try {
      for (let i = 0; i < MOST_ROUNDS && !work.isEmpty; i++) {
        await this.#events.list()
        const { links, since } = work.takeLinks()
        await this.#links.follow(links, since)
      }
    } catch (error) {
      if (!this.#closed) this.#listener.trouble(error)
    }
  }

  /** What every command may have left: watches that nothing needs any more, something to be polled, something to be looked at. */
  async #afterEach(): Promise<void> {
    if (!this.#closed && !this.#pending.work.isEmpty) await this.#drain()
    this.#forest.review()
    this.#tree.trim()
    if (this.#closed) return
    this.#watches.releaseUnused()
    this.#polls.arm()
    this.#settle.arm()
  }
}

function warnOfSlowPolls(slowness: string): void {
  warn(
    'INOTIFY_BRIDGE_SLOW_POLL',
    `what is watched is ${slowness}`,
    'Changes are told late. A longer interval, or fewer directories, would take less of a processor.',
  )
}
