import { debuglog } from 'node:util'
import type { EventBatch } from '../../inotify/batch.ts'
import { MountWatch } from '../../mounts/mount_watch.ts'
import { warn } from '../../warning.ts'
import type { SurveyTerms } from '../diff/diff_options.ts'
import { Surveyor } from '../diff/rescan.ts'
import { Events } from '../events/event_handler.ts'
import { InotifySource } from '../events/inotify_source.ts'
import { Translator } from '../events/translator.ts'
import { ABOUT_NAME, GONE } from '../events/watch_mask.ts'
import { Watches } from '../events/watch_release.ts'
import type { Settings } from '../options.ts'
import { Doubts } from '../pending/recheck_queue.ts'
import type { Surroundings } from '../pending/work_list.ts'
import { Pace } from '../poll/poll_interval.ts'
import { Polling } from '../poll/poller.ts'
import type { Change, Kind } from '../report/change.ts'
import { textOf } from '../report/name_key.ts'
import { Telling } from '../report/reporter.ts'
import { asWatchError, closedError, isAbsence, staleMountError } from '../report/watch_error.ts'
import { Attaching } from '../roots/attach.ts'
import { type Coverage, coverageOf } from '../roots/coverage.ts'
import type { FileRoot } from '../roots/file_root.ts'
import { FileRoots } from '../roots/file_roots.ts'
import { Root } from '../roots/root.ts'
import { Presence } from '../roots/root_monitor.ts'
import type { WatchSystem } from '../system.ts'
import type { Directory } from '../tree/directory.ts'
import { Tree } from '../tree/tree.ts'
import { Recovery } from './overflow_recovery.ts'
import { Schedule } from './repeating_task.ts'
import { Settling } from './settle.ts'
import { MountsBelow } from './submounts.ts'
import { Lane } from './task_queue.ts'

export interface RootsListener {
  /** Paths are keys: see names.ts. */
  changes(changes: Change[]): void
  /** Something is not as it should be, and the watching goes on. */
  trouble(error: unknown): void
  /** Events can no longer be read. */
  broken(error: Error): void
  /** Resolves when more changes are wanted. */
  room(): Promise<void>
}

const trace = debuglog('inotify-bridge')

/** The watched paths, and all that happens to them. What changes what is believed is done one at a time. */
export class Roots implements Surroundings {
  readonly recursive: boolean
  readonly hidesSome: boolean
  readonly followsLinks: boolean
  readonly #settings: Settings
  readonly #system: WatchSystem
  readonly #listener: RootsListener
  readonly #roots = new Map<string, Root>()
  readonly #tree = new Tree()
  readonly #doubts = new Doubts()
  readonly #toBeListed = new Set<Directory>()
  readonly #translator = new Translator(this.#tree, this)
  readonly #lane = new Lane()
  readonly #surveyor: Surveyor
  readonly #watches: Watches
  readonly #events: Events
  readonly #files: FileRoots
  readonly #polling: Polling
  readonly #polls: Schedule
  readonly #pace: Pace
  readonly #settling: Settling
  readonly #mounts: MountWatch
  readonly #attaching: Attaching
  readonly #presence: Presence
  readonly #recovery: Recovery
  readonly #telling: Telling
  #inotify: InotifySource | undefined
  // One whose first listing is under way: how far it has come, coverage() tells.
  #beginning: Root | undefined
  #closed = false

  constructor(settings: Settings, system: WatchSystem, listener: RootsListener) {
    this.#settings = settings
    this.#system = system
    this.#listener = listener
    this.recursive = settings.recursive
    this.hidesSome = settings.ignores !== undefined
    this.followsLinks = settings.followSymlinks
    const { persistent } = settings
    const telling = new Telling(settings, (changes) => listener.changes(changes))
    this.#telling = telling
    const [tree, lane] = [this.#tree, this.#lane]
    const failed = (error: unknown) => {
      if (this.#closed) return
      trace('%s', error)
      listener.trouble(error)
    }
    const watches = new Watches({
      tree,
      inotify: () => this.#inotify,
      keeps: (wd) => files.has(wd) || attaching.ways.has(wd),
    })
    const shared = {
      settings,
      system,
      telling,
      tree,
      lane,
      failed,
      persistent,
      around: this,
      translator: this.#translator,
      doubts: this.#doubts,
      toBeListed: this.#toBeListed,
      inotify: () => this.#inotify,
      openInotify: () => this.#openInotify(),
      roots: () => (this.#closed ? [] : [...this.#roots.values()]),
      terms: (terms: Partial<SurveyTerms>) => this.#terms(terms),
      watches,
      retire: (wds: Iterable<number>) => watches.retire(wds),
      report: (changes: Change[]) => telling.report(changes),
      trouble: (error: unknown) => listener.trouble(error),
      room: () => listener.room(),
      arm: () => this.#arm(),
      overtaken: (directories: readonly Directory[]) => polling.overtake(directories),
    }
    const surveyor = new Surveyor({
      ...shared,
      choose: (path) => attaching.chooseBelow(path),
      extended: (territory, parent) => attaching.rootOf(tree.topOf(parent))?.territories.add(territory),
    })
    const files = new FileRoots({
      ...shared,
      inotify: () => this.#inotify?.inotify,
      lost: (file, how) => {
        for (const root of this.#rootsOf(file)) {
          presence.lose(root, 'inotify')
          if (how === 'stale') root.absence = staleMountError(root.path)
        }
      },
      mayBeBack: async (file) => {
        for (const root of this.#rootsOf(file)) await presence.replace(root, 'inotify')
      },
    })
    const mounts = new MountWatch((points) => {
      const looked = lane.run(() => mountsBelow.look(points))
      looked.then(() => this.#arm()).catch(failed)
    })
    const attaching = new Attaching({ ...shared, surveyor, files, mounts })
    const events = new Events({
      ...shared,
      surveyor,
      lost: (top) => {
        const root = attaching.rootOf(top)
        if (root !== undefined) presence.lose(root, 'inotify')
      },
    })
    const pace = new Pace(settings.interval, warnOfSlowPolls)
    const polling = new Polling({
      ...shared,
      pace,
      interval: settings.interval,
      events,
      surveyor,
      files,
      replace: (root) => presence.replace(root, 'poll'),
      recursive: this.recursive && !this.hidesSome,
      // What is not ignored is surveyed level by level, each time.
      compares: !(this.recursive && this.hidesSome),
    })
    const presence = new Presence({
      ...shared,
      surveyor,
      files,
      attaching,
      polling,
      goodUntil: () => recovery.goodUntil,
    })
    const mountsBelow = new MountsBelow({ ...shared, events, presence })
    const recovery = new Recovery({ ...shared, surveyor, events, files, presence, polling })
    this.#polls = new Schedule({
      every: () => pace.rest,
      persistent,
      failed,
      needed: () => polling.isNeeded(),
      run: () => polling.poll(),
      linger: () => polling.linger(),
      interrupt: (isRunDue) => polling.interrupt(isRunDue),
    })
    this.#settling = new Settling({ ...shared, events, presence, recovery, poll: () => this.#polls.now() })
    this.#surveyor = surveyor
    this.#watches = watches
    this.#files = files
    this.#mounts = mounts
    this.#attaching = attaching
    this.#events = events
    this.#polling = polling
    this.#pace = pace
    this.#presence = presence
    this.#recovery = recovery
  }

  hides(path: string, kind: Kind): boolean {
    return this.#settings.ignores?.(textOf(path), kind) ?? false
  }

  list(directory: Directory): void {
    this.#toBeListed.add(directory)
  }

  doubt(directory: Directory, name: string): void {
    this.#doubts.add(directory, name)
  }

  moved(directory: Directory): void {
    this.#events.moved(directory)
  }

  follow(parent: Directory, name: string): boolean {
    if (this.followsLinks) this.#surveyor.follow({ parent, name })
    return this.followsLinks
  }

  /**
   * Watches one more path; one that leads nowhere is lost until it does. Rejects with InotifyError: as it cannot be opened, listed or
   * watched, or EBADF.
   */
  add(path: string): Promise<void> {
    return this.#lane.run(async () => {
      this.#assertOpen()
      if (this.#roots.has(path)) return
      const root = new Root(path)
      this.#beginning = root
      try {
        await this.#attaching.attach(root)
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
      this.#arm()
    })
  }

  remove(path: string): Promise<void> {
    return this.#lane.run(async () => {
      const root = this.#roots.get(path)
      if (root === undefined) return
      this.#telling.report(this.#translator.giveUp(this.#translator.pending))
      this.#roots.delete(path)
      this.#forget(root)
    })
  }

  /** Every change made before this call has been told when it resolves. Rejects with EBADF if closed before that. */
  async sync(): Promise<void> {
    this.#assertOpen()
    await this.#settling.sync()
    this.#telling.flush()
    this.#assertOpen()
  }

  coverage(): Coverage[] {
    const beginning = this.#beginning === undefined ? [] : [this.#beginning]
    return [...this.#roots.values(), ...beginning].flatMap((root) => {
      root.dropTerritories(this.#tree)
      const isThere = root.isPresent || root === this.#beginning
      return coverageOf(root, this.#tree, isThere, this.#pace.slowness, (base) =>
        this.#polling.glancesAt(base),
      )
    })
  }

  /** Nothing is told after the call. */
  async close(): Promise<void> {
    this.#closed = true
    this.#telling.stop()
    this.#recovery.stop()
    this.#mounts.close()
    this.#files.close()
    const walks = [this.#surveyor.close(), this.#polling.close()]
    const stopped = [...walks, this.#polls.stop(), this.#settling.stop()]
    await this.#inotify?.close()
    await Promise.all(stopped)
    await this.#lane.idle()
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError()
  }

  #terms(terms: Partial<SurveyTerms>): SurveyTerms {
    return {
      source: 'rescan',
      since: Number.POSITIVE_INFINITY,
      byName: false,
      silent: false,
      withStat: false,
      pollInstead: this.#settings.backend === 'auto',
      ...terms,
    }
  }

  #openInotify(): void {
    if (this.#inotify !== undefined) return
    // Closing does not wait for what it cannot see.
    this.#assertOpen()
    const inotify = this.#system.openInotify({ persistent: this.#settings.persistent })
    this.#inotify = new InotifySource(inotify, this.#system.directoryMask, {
      events: async (batch, start, end) => {
        await this.#lane.run(() => this.#onEvents(batch, start, end))
        this.#arm()
        await this.#listener.room()
      },
      overflow: () => this.#lane.run(async () => this.#recovery.onOverflow()),
      recover: async () => {
        await this.#recovery.recover()
        this.#arm()
      },
      failed: (error) => this.#listener.broken(error),
    })
  }

  async #onEvents(batch: EventBatch, start: number, end: number): Promise<void> {
    await this.#events.take(batch, start, end)
    await this.#files.take(batch, start, end)
    if (this.#attaching.ways.collect(batch, start, end, ABOUT_NAME | GONE).size > 0)
      await this.#presence.verify()
  }

  #forget(root: Root): void {
    root.isPresent = false
    this.#attaching.detach(root)
    this.#watches.retireLeft()
    this.#polling.discard()
  }

  #rootsOf(file: FileRoot): Root[] {
    return [...this.#roots.values()].filter((root) => root.file === file)
  }

  /** There may be something to be polled, or to be looked at. */
  #arm(): void {
    this.#polls.arm()
    this.#settling.arm()
  }
}

function warnOfSlowPolls(slowness: string): void {
  warn(
    'INOTIFY_BRIDGE_SLOW_POLL',
    `what is watched is ${slowness}`,
    'Changes are told late. A longer interval, or fewer directories, would take less of a processor.',
  )
}
