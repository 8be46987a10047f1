import type { EventBatch } from '../../inotify/batch.ts'
import { TaskQueue } from '../../task_queue.ts'
import type { GoneRoots } from '../events/event_handler.ts'
import type { InotifyListener } from '../events/inotify_source.ts'
import { ABOUT_NAME, GONE } from '../events/watch_mask.ts'
import type { Watching } from '../inotify_instance.ts'
import type { Settings } from '../options.ts'
import type { WatchListener } from '../report/reporter.ts'
import { asWatchError, closedError, isAbsence } from '../report/watch_error.ts'
import type { SeenFiles } from '../roots/file_survey.ts'
import { Root } from '../roots/root.ts'
import type { Since } from '../saved/since.ts'
import type { WatchSystem } from '../system.ts'
import type { Believed } from './believed.ts'
import { type Coverage, coverageOf, UncoveredLinks } from './coverage.ts'
import { type Wired, wire } from './wiring.ts'

// What is looked at may bring up something else. While others write there may always be more: what is left is for the next command.
const MOST_ROUNDS = 8

/** The watched paths, and all that happens to them. What changes what is believed is done one at a time. */
export class Engine implements InotifyListener {
  readonly #settings: Settings
  readonly #roots = new Map<string, Root>()
  // Their paths, and those of others that are to be.
  readonly #asked = new Set<string>()
  readonly #queue = new TaskQueue(() => this.#afterEach())
  readonly #mountWatch: ReturnType<WatchSystem['watchMounts']>
  readonly #rooms: Wired
  // One whose first listing is under way: how far it has come, coverage() tells.
  #beginning: Root | undefined
  #closed = false

  constructor(settings: Settings, system: WatchSystem, listener: WatchListener) {
    this.#settings = settings
    this.#mountWatch = system.watchMounts((points, vacant) => void this.#lookAtMounts(points, vacant))
    this.#rooms = wire({
      settings,
      system,
      byPath: this.#roots,
      isRoot: (path) => this.#asked.has(path),
      queue: this.#queue,
      mountWatch: this.#mountWatch,
      listener,
      inotifyListener: this,
    })
  }

  /**
   * Watches one more path; one that leads nowhere is lost until it does. Rejects with InotifyError: as it cannot be opened, listed or
   * watched, or EBADF.
   */
  add(path: string): Promise<void> {
    return this.#queue.run(async () => {
      this.#assertOpen()
      if (this.#roots.has(path)) return
      this.#asked.add(path)
      const { forest, attacher, since } = this.#rooms
      const root = new Root(path)
      forest.forsakeLost(root)
      const initial = this.#settings.initial || since?.isOpen === true
      const isTold = initial && !forest.hasToldBelow(root)
      this.#beginning = root
      try {
        await attacher.attach(root, initial && !isTold)
      } catch (error) {
        if (!isAbsence(error)) {
          this.#asked.delete(path)
          this.#forget(root)
          throw asWatchError(error, path)
        }
        root.explain(asWatchError(error, path) as Error)
      } finally {
        this.#beginning = undefined
      }
      this.#assertOpen()
      this.#roots.set(path, root)
      forest.admit(root, isTold, initial)
      this.#lookDeeper(root)
    })
  }

  /**
   * Watches a directory of which inotify tells all, within this call: what happens after it is told. {@link addAll} is to follow, and says what goes wrong behind it.
   * Throws InotifyError: as it cannot be opened, read or watched, EBADF.
   */
  addNow(path: string): void {
    this.#assertOpen()
    const { inotify, rescan, rootMonitor, reporter } = this.#rooms
    const trouble = (error: unknown) => {
      if (!this.#closed) reporter.trouble(error)
    }
    // Before anybody looks, as ever; it is opened once more behind that if it cannot be.
    void this.#mountWatch.open().catch(() => {})
    inotify.open()
    rescan.lookAhead(path, inotify.watching as Watching)
    // In the queue before any event, which would be nobody's while the path is none.
    void this.add(path).catch(() => {})
    // The way there is watched by now, and was not when that was looked at.
    void this.#queue
      .run(async () => {
        const root = this.#roots.get(path)
        if (root !== undefined) await rootMonitor.review([root])
      })
      .catch(trouble)
  }

  /** Watches these paths in their order, as add() does, but for files that follow each other: these are watched together. */
  async addAll(paths: readonly string[]): Promise<void> {
    const { fileBatch, since } = this.#rooms
    if (since !== undefined) return await this.#addSince(since, paths)
    const runs = await this.#queue.run(async () => {
      this.#assertOpen()
      for (const path of paths) this.#asked.add(path)
      const seen = await fileBatch.look(paths)
      const [first, ...others] = runsOf(paths, (path) => seen.has(path))
      if (first?.isPicked) await this.#addFiles(first.run, seen)
      return first === undefined ? [] : [{ ...first, isPicked: false }, ...others]
    })
    for (const { run, isPicked } of runs) {
      // What was seen of these is out of date.
      if (isPicked) await this.#queue.run(async () => await this.#addFiles(run, await fileBatch.look(run)))
      for (const path of run) if (!this.#roots.has(path)) await this.add(path)
    }
  }

  /** What lies in another is told by that one, as it was when they were saved: so that comes first. */
  async #addSince(since: Since, paths: readonly string[]): Promise<void> {
    this.#assertOpen()
    await since.open()
    try {
      for (const path of paths) this.#asked.add(path)
      for (const path of paths.toSorted((a, b) => a.length - b.length)) await this.add(path)
    } finally {
      since.close()
    }
  }

  async #addFiles(paths: readonly string[], seen: SeenFiles): Promise<void> {
    const { fileBatch, forest } = this.#rooms
    const { initial } = this.#settings
    const isNew = new Set(paths.filter((path) => seen.has(path) && !this.#roots.has(path)))
    for (const root of await fileBatch.attach([...isNew], seen)) {
      this.#roots.set(root.path, root)
      forest.admit(root, initial, initial)
    }
    this.#assertOpen()
  }

  remove(path: string): Promise<void> {
    return this.#queue.run(async () => {
      const root = this.#roots.get(path)
      if (root === undefined) return
      const { reporter, translator, forest, coveredRoots, attacher } = this.#rooms
      reporter.report(translator.giveUp())
      coveredRoots.review()
      this.#roots.delete(path)
      this.#asked.delete(path)
      this.#lookDeeper(root)
      for (const each of forest.dismiss(root)) await attacher.stand(each)
      this.#forget(root)
    })
  }

  /** What is ignored from now on. All is looked through: what is hidden by now is told to be gone, and what is shown is told as new. */
  setIgnores(ignores: Settings['ignores']): Promise<void> {
    return this.#queue.run(async () => {
      this.#assertOpen()
      const { rules, forest, pending } = this.#rooms
      rules.replaceIgnores(ignores)
      for (const root of forest.standing()) {
        // What a poll that is under way has found, it has found as it was ignored before.
        root.outdate()
        if (root.isPresent && root.top !== undefined) pending.work.list(root.top)
      }
    })
  }

  /** Every change made before this call has been told when it resolves. Rejects with EBADF if closed before that. */
  async sync(): Promise<void> {
    this.#assertOpen()
    await this.#rooms.settle.sync()
    this.#rooms.reporter.flush()
    this.#assertOpen()
  }

  /** What has been told is written to a file. Rejects as it cannot be, and with EBADF if closed before that. */
  async save(path: string): Promise<void> {
    await this.sync()
    await this.#queue.run(async () => {
      this.#assertOpen()
      // What was held back behind the sync().
      this.#rooms.reporter.flush()
      await this.#rooms.saver.save(path)
    })
    this.#assertOpen()
  }

  coverage(): Coverage[] {
    const { tree, pollInterval, pollScope, links } = this.#rooms
    const uncovered = new UncoveredLinks(links.refused(), tree)
    const parts = { tree, slowness: pollInterval.slowness, pollScope, links: uncovered }
    const beginning = this.#beginning === undefined ? [] : [this.#beginning]
    return [...this.#roots.values(), ...beginning].flatMap((root) => {
      root.dropMounts(tree)
      const isThere = root.isPresent || root === this.#beginning
      return coverageOf(root, isThere, parts)
    })
  }

  /** What is believed to be there. */
  get believed(): Believed {
    return this.#rooms.believed
  }

  /** Nothing is told after the call. */
  async close(): Promise<void> {
    const { reporter, overflowRecovery, forest, files, rescan, poller, polls, settle, retry, inotify } =
      this.#rooms
    this.#closed = true
    reporter.stop()
    overflowRecovery.stop()
    this.#mountWatch.close()
    forest.close()
    files.close()
    const walks = [rescan.close(), poller.close()]
    const stopped = [...walks, polls.stop(), settle.stop(), retry.stop()]
    await inotify.close()
    await Promise.all(stopped)
    await this.#queue.idle()
  }

  /** See {@link InotifyListener}, as all that follows. */
  async events(batch: EventBatch, start: number, end: number): Promise<void> {
    const { events, rootMonitor, links, rootWays, reporter } = this.#rooms
    await this.#queue.run(async () => {
      await this.#tell(await events.handle(batch, start, end))
      await rootMonitor.takeFileEvents(batch, start, end)
      await links.take(batch, start, end)
      const concerned = rootWays.collect(batch, start, end, ABOUT_NAME | GONE)
      if (concerned.size > 0) await rootMonitor.review(concerned.keys())
    })
    await reporter.room()
  }

  async mark(): Promise<void> {
    const { events } = this.#rooms
    if (events.holdsBack) await this.#queue.run(async () => this.#tell(await events.flush()))
  }

  overflow(): Promise<void> {
    return this.#queue.run(async () => {
      this.#rooms.overflowRecovery.onOverflow()
      this.#rooms.events.onOverflow()
      this.#rooms.links.onOverflow()
    })
  }

  recover(): Promise<void> {
    return this.#rooms.overflowRecovery.recover()
  }

  failed(error: Error): void {
    this.#rooms.reporter.broken(error)
  }

  /** What follows when events have told that roots are gone. */
  async #tell(first: GoneRoots | undefined): Promise<void> {
    const { events, rootMonitor } = this.#rooms
    for (let gone = first; gone !== undefined; gone = await events.goOn(gone)) {
      for (const top of gone.tops) rootMonitor.onGone(top, gone.mask)
    }
  }

  async #lookAtMounts(points: readonly string[], vacant: readonly string[]): Promise<void> {
    const { rootMonitor, submounts, reporter } = this.#rooms
    rootMonitor.noteUnmounted(vacant)
    await this.#queue.run(() => submounts.look(points)).catch((error) => reporter.trouble(error))
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError()
  }

  /** It lies in the tree of another, and is watched now, or is not any more: of what lies deep in that more is told, or less. */
  #lookDeeper({ coverer, top }: Root): void {
    const { rules, tree, pending } = this.#rooms
    if (!rules.hidesDepths || coverer === undefined || top === undefined) return
    for (const each of tree.within(top)) pending.work.list(each)
  }

  #forget(root: Root): void {
    root.vanish()
    this.#rooms.attacher.detach(root)
    root.outdate()
  }

  /** What every command may have left: watches that nothing needs any more, something to be polled, something to be looked at. */
  async #afterEach(): Promise<void> {
    const { pending, coveredRoots, forest, rootMonitor, links, tree, watches, polls, settle, retry } =
      this.#rooms
    try {
      links.takeMoves()
      if (!this.#closed && !pending.work.isEmpty) await this.#drain()
      forest.forsakeVacated()
      coveredRoots.review()
      for (const root of forest.takeReleased()) await rootMonitor.reattach(root, 'rescan')
    } finally {
      await this.#tellSeen()
    }
    tree.trim()
    if (this.#closed) return
    watches.releaseUnused()
    polls.arm()
    settle.arm()
    retry.arm()
  }

  /** With `stat`, nothing has been told until now. */
  async #tellSeen(): Promise<void> {
    const { toldStats, reporter } = this.#rooms
    if (toldStats === undefined) return
    await reporter.tellSeen((changes) => toldStats.addTo(changes)).catch((error) => reporter.trouble(error))
  }

  /** What a command has brought up to be listed, looked at or followed. */
  async #drain(): Promise<void> {
    const { pending, followUp, links, reporter } = this.#rooms
    const { work } = pending
    try {
      for (let i = 0; i < MOST_ROUNDS && !work.isEmpty; i++) {
        await followUp.list()
        const { links: seen, since } = work.takeLinks()
        await links.follow(seen, since)
      }
    } catch (error) {
      reporter.trouble(error)
    }
  }
}

/** Neighbours that are all picked, or of which none is. */
interface Run {
  run: string[]
  isPicked: boolean
}

function runsOf(paths: readonly string[], isPicked: (path: string) => boolean): Run[] {
  const runs: Run[] = []
  for (const path of paths) {
    const last = runs.at(-1)
    if (last?.isPicked === isPicked(path)) last.run.push(path)
    else runs.push({ run: [path], isPicked: isPicked(path) })
  }
  return runs
}
