import { realpath } from 'node:fs/promises'
import { constants } from 'node:os'
import { debuglog } from 'node:util'
import { InotifyError } from '../errors.ts'
import type { EventBatch } from '../inotify/batch.ts'
import type { Backend } from '../mounts/filesystems.ts'
import { isWithin } from '../mounts/mountinfo.ts'
import type { Change, Kind, RootChange, Source } from './change.ts'
import { CLOCK_SLACK_MS } from './clock.ts'
import { type Coverage, coverageOf } from './coverage.ts'
import type { Directory } from './directory.ts'
import { Doubts } from './doubts.ts'
import { Events } from './events.ts'
import { FileRoot } from './file_root.ts'
import { FileRoots } from './file_roots.ts'
import { Hints } from './hints.ts'
import { InotifySource } from './inotify_source.ts'
import { Lane } from './lane.ts'
import { MountWatch } from './mount_watch.ts'
import { textOf } from './names.ts'
import type { Settings } from './options.ts'
import { Polling } from './polling.ts'
import { Quiet } from './quiet.ts'
import { Root } from './root.ts'
import { Schedule } from './schedule.ts'
import { SharedRun } from './shared_run.ts'
import type { RootFinding, SurveyTerms } from './survey.ts'
import { Surveyor } from './surveyor.ts'
import type { WatchSystem } from './system.ts'
import { Territory } from './territory.ts'
import { type Surroundings, Translator } from './translate.ts'
import { Tree } from './tree.ts'
import { asWatchError, closedError, isAbsence, isLimit, isShortage } from './watch_error.ts'
import { ABOUT_NAME, GONE } from './watch_mask.ts'
import { watchWays } from './ways.ts'

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

// The halves of a rename were measured 0.44 ms apart at most, with a read in between at the worst.
const SETTLING_MS = 10

// How often sync() looks again at what is in doubt.
const MOST_LOOKS = 8

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
  readonly #tops = new Map<Directory, Root>()
  readonly #tree = new Tree()
  readonly #doubts = new Doubts()
  readonly #toBeListed = new Set<Directory>()
  readonly #translator = new Translator(this.#tree, this)
  readonly #lane = new Lane()
  readonly #surveyor: Surveyor
  readonly #events: Events
  readonly #files: FileRoots
  readonly #polling: Polling
  readonly #polls: Schedule
  readonly #settling: Schedule
  readonly #quiet: Quiet | undefined
  readonly #syncing = new SharedRun(() => this.#sync())
  // What tells that a root may be another directory: see ways.ts.
  readonly #ways = new Hints<Root>()
  readonly #mounts: MountWatch
  #inotify: InotifySource | undefined
  // ms since the epoch: all that was done before has been told.
  #goodUntil = Date.now()
  // One whose first listing is under way: how far it has come, coverage() tells.
  #attaching: Root | undefined
  // What is found before it is known that it is to be told.
  #withheld: Change[] | undefined
  #closed = false

  constructor(settings: Settings, system: WatchSystem, listener: RootsListener) {
    this.#settings = settings
    this.#system = system
    this.#listener = listener
    this.recursive = settings.recursive
    this.hidesSome = settings.ignores !== undefined
    this.followsLinks = settings.followSymlinks
    const { persistent } = settings
    if (settings.settle > 0) {
      this.#quiet = new Quiet(settings.settle, persistent, (changes) => listener.changes(changes))
    }
    const [tree, translator, doubts] = [this.#tree, this.#translator, this.#doubts]
    const report = (changes: Change[]) => this.#report(changes)
    const terms = (source: Source) => this.#terms({ source })
    this.#surveyor = new Surveyor({
      tree,
      translator,
      around: this,
      inotify: () => this.#inotify,
      choose: (path) => this.#chooseBelow(path),
      keeps: (wd) => this.#keeps(wd),
      extended: (territory, parent) => this.#tops.get(tree.topOf(parent))?.territories.add(territory),
      report,
      trouble: (error) => listener.trouble(error),
    })
    this.#files = new FileRoots({
      inotify: () => this.#inotify?.inotify,
      retire: (wds) => this.#retire(wds),
      report,
      trouble: (error) => listener.trouble(error),
      lost: (file) => this.#withRootOf(file, (root) => this.#lose(root, 'inotify')),
      mayBeBack: (file) => this.#withRootOf(file, (root) => this.#replace(root, 'inotify')),
    })
    const failed = (error: unknown) => {
      if (this.#closed) return
      trace('%s', error)
      listener.trouble(error)
    }
    this.#mounts = new MountWatch((points) => {
      this.#lane.run(() => this.#onMounts(points)).catch(failed)
    })
    const lost = (top: Directory) => {
      const root = this.#tops.get(top)
      if (root !== undefined) this.#lose(root, 'inotify')
    }
    const [surveyor, toBeListed] = [this.#surveyor, this.#toBeListed]
    this.#events = new Events({
      tree,
      translator,
      surveyor,
      around: this,
      doubts,
      toBeListed,
      terms,
      report,
      lost,
      trouble: (error) => listener.trouble(error),
    })
    this.#polling = new Polling({
      lane: this.#lane,
      events: this.#events,
      surveyor,
      inotify: () => this.#inotify,
      terms: (since) => this.#terms({ source: 'poll', since }),
      replace: (root) => this.#replace(root, 'poll'),
      isCurrent: (root) => !this.#closed && this.#roots.get(root.path) === root && root.isPresent,
      recursive: this.recursive && !this.hidesSome,
    })
    this.#polls = new Schedule({
      every: settings.interval,
      persistent,
      failed,
      needed: () => [...this.#roots.values()].some((root) => !root.isPresent || this.#polling.isNeeded(root)),
      run: () => this.#poll(),
    })
    this.#settling = new Schedule({
      every: SETTLING_MS,
      persistent,
      failed,
      needed: () => this.#events.isUnsettled,
      run: () => this.#settle(),
    })
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
      this.#attaching = root
      try {
        await this.#attach(root)
      } catch (error) {
        if (!isAbsence(error)) {
          this.#forget(root)
          throw asWatchError(error, path)
        }
        root.absence = asWatchError(error, path) as Error
      } finally {
        this.#attaching = undefined
      }
      this.#assertOpen()
      this.#roots.set(path, root)
      this.#polls.arm()
      this.#settling.arm()
    })
  }

  remove(path: string): Promise<void> {
    return this.#lane.run(async () => {
      const root = this.#roots.get(path)
      if (root === undefined) return
      this.#report(this.#translator.giveUp(this.#translator.pending))
      this.#roots.delete(path)
      this.#forget(root)
    })
  }

  /** Every change made before this call has been told when it resolves. Rejects with EBADF if closed before that. */
  async sync(): Promise<void> {
    this.#assertOpen()
    await this.#syncing.run()
    this.#quiet?.flush()
    this.#assertOpen()
  }

  async #sync(): Promise<void> {
    let overflows: number | undefined
    // The kernel tells that watches were removed, and of too many at once by an overflow.
    for (let i = 0; i === 0 || (i < MOST_LOOKS && this.#inotify?.overflows !== overflows); i++) {
      overflows = this.#inotify?.overflows
      await this.#catchUp()
    }
  }

  async #catchUp(): Promise<void> {
    await this.#inotify?.barrier()
    // A look may raise another doubt: of what is above, or of what was moved meanwhile. While others write, there may always be one.
    for (let i = 0; i === 0 || (i < MOST_LOOKS && !this.#doubts.isEmpty); i++) await this.#settling.now()
    await this.#polls.now()
    // Nothing tells that an ancestor was renamed, or that a directory was removed in which some process still is.
    await this.#lane.run(() => this.#verify())
    await this.#inotify?.barrier()
  }

  coverage(): Coverage[] {
    const attaching = this.#attaching === undefined ? [] : [this.#attaching]
    return [...this.#roots.values(), ...attaching].flatMap((root) =>
      coverageOf(root, this.#tree, root.isPresent || root === this.#attaching),
    )
  }

  /** Nothing is told after the call. */
  async close(): Promise<void> {
    this.#closed = true
    this.#quiet?.stop()
    this.#mounts.close()
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

  // -- the source

  #source(): InotifySource {
    if (this.#inotify !== undefined) return this.#inotify
    // Closing does not wait for what it cannot see.
    this.#assertOpen()
    const inotify = this.#system.openInotify({ persistent: this.#settings.persistent })
    this.#inotify = new InotifySource(inotify, this.#system.directoryMask, {
      events: async (batch, start, end) => {
        await this.#lane.run(() => this.#onEvents(batch, start, end))
        this.#settling.arm()
        await this.#listener.room()
      },
      overflow: () => this.#lane.run(async () => this.#onOverflow()),
      recover: () => this.#lane.run(() => this.#recover()),
      failed: (error) => this.#listener.broken(error),
    })
    return this.#inotify
  }

  async #onEvents(batch: EventBatch, start: number, end: number): Promise<void> {
    await this.#events.take(batch, start, end)
    await this.#files.take(batch, start, end)
    if (this.#ways.collect(batch, start, end, ABOUT_NAME | GONE).size > 0) await this.#verify()
  }

  /** Something was mounted or unmounted: another directory may be at that path now. */
  async #onMounts(points: readonly string[]): Promise<void> {
    await this.#verify()
    const directories: Directory[] = []
    for (const { isPresent, top, realPath } of this.#roots.values()) {
      if (!isPresent || top === undefined) continue
      for (const point of points) {
        if (point === realPath || !isWithin(point, realPath)) continue
        const directory = this.#tree.find(top, point.slice(realPath.length).split('/').filter(Boolean))
        if (directory !== undefined) directories.push(directory)
      }
    }
    if (directories.length > 0) await this.#surveyor.survey(directories, this.#terms({}))
    this.#settling.arm()
  }

  /** Whether a watch is needed for something else than a directory of the tree. */
  #keeps(wd: number): boolean {
    return this.#files.has(wd) || this.#ways.has(wd)
  }

  #retire(wds: Iterable<number>): void {
    for (const wd of wds) if (!this.#keeps(wd) && this.#tree.at(wd).length === 0) this.#inotify?.retire(wd)
  }

  async #settle(): Promise<void> {
    if (!this.#events.isUnsettled) return
    const release = this.#events.hold()
    const startedAt = Date.now()
    const overflows = this.#inotify?.overflows
    // Without a watch to spare for it, the time that has passed decides.
    await this.#inotify?.barrier().catch((error) => trace('no barrier: %s', error))
    const resolve = await this.#lane.run(async () => {
      await release()
      return await this.#events.lookAgain()
    })
    if (this.#inotify?.overflows === overflows) this.#goodUntil = startedAt
    if (resolve === undefined) return
    await this.#inotify?.barrier().catch((error) => trace('no barrier: %s', error))
    await this.#lane.run(resolve)
  }

  #onOverflow(): void {
    this.#report(this.#translator.giveUp(this.#translator.pending))
    for (const root of this.#watched()) {
      root.isOverflown = true
      this.#report([aboutRoot('overflow', root, 'inotify')])
    }
  }

  async #recover(): Promise<void> {
    const roots = this.#watched()
    const startedAt = Date.now()
    this.#polling.discard()
    this.#doubts.clear()
    await this.#verify()
    const present = roots.filter(({ isPresent, top }) => isPresent && top !== undefined)
    const since = this.#goodUntil - CLOCK_SLACK_MS
    await this.#surveyor.reconcile(
      present.map(({ top }) => top as Directory),
      this.#terms({ since, withStat: true }),
    )
    await this.#events.list()
    await this.#files.lookAtAll('rescan')
    await this.#reconcile()
    this.#goodUntil = startedAt
    for (const root of roots) {
      if (root.isOverflown && root.isPresent) this.#report([aboutRoot('recovered', root, 'rescan')])
      root.isOverflown = false
    }
  }

  /** An overflow may have swallowed that watches are gone, and so may be believed in; and that some are there which nobody needs. */
  async #reconcile(): Promise<void> {
    const wds = await this.#inotify?.kernelWatches()
    if (wds === undefined) return
    for (const directory of this.#tree.watchedBut(wds)) {
      this.#tree.loseWatch(directory)
      if (directory.parent !== undefined) this.#doubts.add(directory.parent, directory.name)
    }
    for (const wd of wds) {
      const isKnown = this.#tree.at(wd).length > 0 || this.#keeps(wd) || this.#inotify?.isBarrier(wd)
      if (!isKnown) this.#inotify?.retire(wd)
    }
  }

  #watched(): Root[] {
    const isWatched = ({ isWatched }: Territory) => isWatched
    return [...this.#roots.values()].filter(
      ({ isPresent, file, territories }) =>
        isPresent && (file !== undefined || [...territories].some(isWatched)),
    )
  }

  // -- roots

  /** What the path leads to now. Rejects as it cannot be opened, listed or watched. */
  async #attach(root: Root): Promise<void> {
    const choice = await this.#choose(root.path)
    const isRestored = root.top !== undefined
    const territory = this.#territoryOf(root, choice)
    if (territory.isWatched) this.#openFor(territory, root)
    if (root.file !== undefined) return await this.#attachFile(root, territory)
    if (root.top === undefined) {
      root.top = this.#tree.addRoot(root.path, territory)
      this.#tops.set(root.top, root)
    }
    territory.base = root.top
    const terms = isRestored
      ? this.#terms({ since: root.goodUntil - CLOCK_SLACK_MS, byName: true, withStat: true })
      : this.#terms({ silent: !this.#settings.initial && root.absence === undefined })
    const told = terms.silent || isRestored ? undefined : (changes: Change[]) => this.#report(changes)
    let finding = await this.#surveyRoot(root, terms, told)
    const refused = territory.uncovered.get(root.top)
    if (finding.error === 0 && refused !== undefined) {
      if (!isLimit(refused) || this.#settings.backend !== 'auto') throw refused
      this.#pollFor(territory, root, refused)
      finding = await this.#surveyRoot(root, this.#terms({ silent: terms.silent }))
    }
    // What was a directory is not restored by a file.
    if (finding.error === -constants.errno.ENOTDIR && !isRestored)
      return await this.#attachFile(root, territory)
    if (finding.error !== 0)
      throw new InotifyError({ errno: -finding.error, syscall: 'open', path: root.path })
    root.identity = finding.identity
    root.realPath = await realpath(root.path).catch(() => root.path)
    await this.#watchWays(root)
    // What it would tell, sync() finds.
    await this.#mounts.open().catch((error) => this.#listener.trouble(error))
    root.isPresent = true
    root.absence = undefined
    trace('%s: %s, because %s', root.path, territory.backend, territory.why)
  }

  /** What there is no watch for is found by sync(), or by the next event of the root. */
  async #watchWays(root: Root): Promise<void> {
    const inotify = this.#inotify?.inotify
    if (inotify === undefined || !root.top?.territory.isWatched) return
    const ways = await watchWays(root.path, false, inotify).catch((error) => {
      trace('%s: %s', root.path, error)
      return []
    })
    this.#retire(this.#ways.set(root, ways))
  }

  async #surveyRoot(
    root: Root,
    terms: SurveyTerms,
    told?: (changes: Change[]) => void,
  ): Promise<RootFinding> {
    const top = root.top as Directory
    const findings = terms.byName
      ? await this.#surveyor.reconcile([top], terms)
      : await this.#surveyor.survey([top], terms, told)
    return findings.get(top) ?? { error: -constants.errno.ESTALE, identity: '' }
  }

  /** The territory of its own mount; chosen anew when it is restored. */
  #territoryOf(root: Root, { backend, why }: Choice): Territory {
    const known = root.top?.territory ?? [...root.territories][0]
    if (known === undefined) {
      const territory = new Territory(backend, why, 0)
      root.territories.add(territory)
      return territory
    }
    known.backend = backend
    known.why = why
    known.uncovered.clear()
    known.leftover.clear()
    return known
  }

  /** There must be an inotify instance; without one it is polled, if that is ours to decide. */
  #openFor(territory: Territory, root: Root): void {
    try {
      this.#source()
    } catch (error) {
      if (this.#settings.backend !== 'auto' || !isLimit(error)) throw error
      this.#pollFor(territory, root, error)
    }
  }

  #pollFor(territory: Territory, root: Root, error: InotifyError): void {
    const limit = asWatchError(error, root.path) as InotifyError
    territory.backend = 'poll'
    territory.why = `polled for want of a watch (${limit.code})`
    territory.refuse(root.path, limit)
    this.#listener.trouble(limit)
  }

  /** A file, which is compared with what it was before it was lost. */
  async #attachFile(root: Root, territory: Territory): Promise<void> {
    const isNew = root.file === undefined
    if (root.top !== undefined) this.#dropTop(root)
    root.file ??= new FileRoot(root.path)
    const news = await this.#files.attach(root.file, territory)
    if (news === 'lost') throw new InotifyError({ errno: 'ENOENT', syscall: 'stat', path: root.path })
    const isTold = news !== undefined && (!isNew || this.#settings.initial || root.absence !== undefined)
    const { path, kind } = root.file
    if (isTold) this.#report([{ type: news, path, kind, mask: 0, source: 'rescan' }])
    root.isPresent = true
    root.absence = undefined
  }

  async #withRootOf(file: FileRoot, use: (root: Root) => Promise<void> | void): Promise<void> {
    for (const root of [...this.#roots.values()]) if (root.file === file) await use(root)
  }

  async #choose(path: string): Promise<Choice> {
    const chosen = await this.#system.choose(path)
    const { backend } = this.#settings
    if (backend === 'auto') return chosen
    return { backend, why: `asked for, where ${chosen.backend} would have been chosen (${chosen.why})` }
  }

  /** What is mounted below a root may be no place for files. */
  async #chooseBelow(path: string): Promise<Choice | { refused: Error }> {
    const type = await this.#system.pseudoType(path)
    if (type === undefined) return await this.#choose(path)
    const hint = `${type} tells of no changes; watch it as a root of its own to have it polled`
    return { refused: new InotifyError({ errno: 'ENOTSUP', syscall: 'watch', path, hint }) }
  }

  #lose(root: Root, source: Source): void {
    if (!root.isPresent) return
    this.#report(this.#translator.giveUp(this.#translator.pending))
    root.isPresent = false
    root.isOverflown = false
    root.goodUntil = this.#goodUntil
    this.#report([aboutRoot('lost', root, source)])
    this.#doubts.forget((directory) => this.#tree.topOf(directory) === root.top)
    for (const directory of root.top === undefined ? [] : this.#tree.within(root.top))
      this.#tree.clearWatch(directory)
    this.#surveyor.retire()
    this.#polling.discard()
    this.#polls.arm()
  }

  /** The path is not what it was: says so, and watches what is there now, if something is. */
  async #replace(root: Root, source: Source): Promise<void> {
    this.#lose(root, source)
    if (this.#closed || this.#roots.get(root.path) !== root) return
    this.#withheld = []
    const isRestored = await this.#attach(root).then(
      () => true,
      (error) => {
        trace('%s is still lost: %s', root.path, error)
        return false
      },
    )
    const found = this.#withheld ?? []
    this.#withheld = undefined
    if (isRestored) this.#report([aboutRoot('restored', root, 'rescan'), ...found])
    this.#settling.arm()
  }

  /** Looks whether each path is still what it was. */
  async #verify(): Promise<void> {
    const roots = [...this.#roots.values()].filter(({ isPresent, top }) => isPresent && top !== undefined)
    const tops = roots.map(({ top }) => top as Directory)
    const found = await this.#surveyor.identify(tops).catch((error) => {
      if (!isShortage(error)) throw error
      trace('%s', error)
      return undefined
    })
    for (const root of found === undefined ? [] : roots) {
      const finding = found?.get(root.top as Directory)
      const isShort = finding !== undefined && SHORTAGES.has(-finding.error)
      if (!isShort && finding?.identity !== root.identity) await this.#replace(root, 'rescan')
    }
    await this.#files.lookAtAll('rescan')
  }

  async #poll(): Promise<void> {
    for (const root of this.#roots.values()) {
      for (const territory of root.territories) {
        const { base } = territory
        if (base !== undefined && base !== root.top && !this.#tree.isAttached(base))
          root.territories.delete(territory)
      }
      if (root.isPresent) continue
      await this.#lane.run(async () => {
        if (!root.isPresent) await this.#replace(root, 'poll')
      })
    }
    await this.#polling.poll([...this.#roots.values()])
    await this.#lane.run(() => this.#files.lookAtAll('poll'))
    await this.#listener.room()
  }

  #forget(root: Root): void {
    root.isPresent = false
    if (root.file !== undefined) this.#files.remove(root.file)
    this.#retire(this.#ways.set(root, []))
    if (root.top !== undefined) this.#dropTop(root)
    this.#surveyor.retire()
    this.#polling.discard()
  }

  #dropTop(root: Root): void {
    const { top } = root
    if (top === undefined) return
    this.#tree.drop(top)
    this.#tops.delete(top)
    root.top = undefined
  }

  #report(changes: Change[]): void {
    if (changes.length === 0 || this.#closed) return
    if (this.#withheld !== undefined) for (const change of changes) this.#withheld.push(change)
    else if (this.#quiet !== undefined) this.#quiet.take(changes)
    else this.#listener.changes(changes)
  }
}

type Choice = { backend: Backend; why: string }

const { EMFILE, ENFILE, ENOMEM, EAGAIN } = constants.errno
const SHORTAGES = new Set<number>([EMFILE, ENFILE, ENOMEM, EAGAIN])

function aboutRoot(type: RootChange['type'], root: Root, source: Source): RootChange {
  return { type, path: root.path, source }
}
