import { EventEmitter } from 'node:events'
import { basename, dirname, relative } from 'node:path'
import type { Change, Kind } from '../watch/report/change.ts'
import { addTogether, entriesOfLost, Watcher } from '../watch/watcher.ts'
import { added, eventsOf, type PathEvent, removed } from './events.ts'
import { isBelow } from './ignored.ts'
import {
  type ChokidarOptions,
  type EmitArgs,
  type FSWInstanceOptions,
  settingsOf,
  watchOptionsOf,
} from './options.ts'
import { Pace } from './pace.ts'
import { Scope } from './scope.ts'
import { statsOf } from './stats.ts'

export type EventName = PathEvent['event']
export type FSWatcherEventMap = Record<EventName, EmitArgs> & {
  all: [event: EventName, ...EmitArgs]
  raw: [event: string, name: string, details: { watchedPath: string }]
  ready: []
  error: [error: unknown]
}

/** As chokidar's: 'add', 'addDir', 'change', 'unlink', 'unlinkDir' (path, stats) · 'all' (event, path, stats) · 'ready' · 'error' (error) · 'raw' */
export class FSWatcher extends EventEmitter<FSWatcherEventMap> {
  readonly options: FSWInstanceOptions
  closed = false
  readonly #scope: Scope
  readonly #pace: Pace
  // Roots that are still to be told, before what is in them.
  readonly #untold = new Set<string>()
  // Those that have been: where another comes that they lie in, it tells them again.
  readonly #told = new Set<string>()
  #watcher: Watcher | undefined
  #work = Promise.resolve()
  #unready = 0
  #isReady = false
  #closing: Promise<void> | undefined

  constructor(options: ChokidarOptions = {}) {
    super()
    this.options = settingsOf(options)
    this.#scope = new Scope(this.options)
    this.#pace = new Pace(this.options, (event, path) => this.#emit(event, path))
  }

  /** Watches these as well: files, directories, and what is not there yet. After close() it begins anew. Throws TypeError. */
  add(paths: string | string[]): this {
    const { roots, isBack } = this.#scope.add(paths)
    this.closed = false
    this.#closing = undefined
    if (roots.length === 0) return this
    this.#watcher ??= this.#open()
    this.#unready++
    this.#enqueue((watcher) => this.#addAll(watcher, roots, isBack))
    return this
  }

  /** Nothing is told of these any more, nor of what lies below them. Throws TypeError. */
  unwatch(paths: string | string[]): this {
    const roots = this.#scope.unwatch(paths)
    for (const root of roots) this.#told.delete(root)
    this.#pace.forget((path) => this.#scope.isUnwatched(path))
    this.#enqueue(async (watcher) => {
      for (const path of roots) await watcher.remove(path)
      await watcher.setIgnore(this.#scope.ignore())
    })
    return this
  }

  /** Ends all watching, and takes all listeners away. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** The process stays for the watcher, as for any that is `persistent`. */
  ref(): this {
    this.#watcher?.ref()
    return this
  }

  /** The process does not stay for the watcher. */
  unref(): this {
    this.#watcher?.unref()
    return this
  }

  /** The names in each directory that is watched, and in those in which roots lie. */
  getWatched(): Record<string, string[]> {
    const { cwd } = this.options
    const watched = new Map<string, string[]>()
    const namesIn = (directory: string) => {
      const key = cwd === undefined ? directory : relative(cwd, directory) || '.'
      const names = watched.get(key) ?? []
      watched.set(key, names)
      return names
    }
    for (const { path, kind } of this.#watcher?.entries() ?? []) {
      if (this.#scope.isHidden(path, kind !== 'directory')) continue
      namesIn(dirname(path)).push(basename(path))
      if (kind === 'directory') namesIn(path)
    }
    for (const names of watched.values()) names.sort()
    return Object.fromEntries(watched)
  }

  /** One after another, in the order in which it was asked for. */
  #enqueue(work: (watcher: Watcher) => Promise<void>): void {
    const watcher = this.#watcher
    if (watcher === undefined) return
    this.#work = this.#work
      .then(() => (this.#watcher === watcher ? work(watcher) : undefined))
      .catch((error) => this.#fail(watcher, error))
  }

  async #addAll(watcher: Watcher, roots: readonly string[], isBack: boolean): Promise<void> {
    if (isBack) await watcher.setIgnore(this.#scope.ignore())
    // One may have been unwatched meanwhile.
    for (const path of roots) if (this.#scope.isIgnored(path, undefined)) this.unwatch(path)
    const asked = roots.filter((path) => this.#scope.isRoot(path))
    if (!this.options.ignoreInitial) for (const path of asked) if (!watcher.has(path)) this.#untold.add(path)
    // Where one cannot be added, each is by itself.
    const isDone = await addTogether(watcher, asked).then(
      () => true,
      () => false,
    )
    for (const path of asked) {
      if (!isDone) await watcher.add(path).catch((error) => this.#fail(watcher, error))
      const [root] = this.#watcher === watcher ? watcher.entries(path) : []
      this.#tellRoot(path, root?.kind)
    }
    this.#unready--
    if (this.#unready > 0 || this.#isReady || this.#watcher !== watcher) return
    this.#isReady = true
    this.#emitTo('ready')
  }

  #open(): Watcher {
    const watcher = new Watcher([], { ...watchOptionsOf(this.options), ignore: this.#scope.ignore() ?? [] })
    watcher.on('changes', (changes) => {
      if (this.#watcher === watcher) this.#take(changes)
    })
    watcher.on('error', (error) => this.#fail(watcher, error))
    return watcher
  }

  async #close(): Promise<void> {
    const watcher = this.#watcher
    this.#watcher = undefined
    this.closed = true
    this.#isReady = false
    this.#unready = 0
    for (const all of [this.#scope, this.#untold, this.#told]) all.clear()
    this.#pace.forget(() => true)
    this.removeAllListeners()
    await watcher?.close()
  }

  #fail(watcher: Watcher, error: unknown): void {
    const isPermission = /^(EACCES|EPERM)$/.test((error as NodeJS.ErrnoException).code ?? '')
    const isWanted = !(isPermission && this.options.ignorePermissionErrors)
    if (this.#watcher === watcher && isWanted) this.#emitTo('error', error)
  }

  // What a listener throws is an uncaught exception, and not the end of what others are to be told. So is an 'error' that nobody listens to.
  #emitTo<K extends keyof FSWatcherEventMap>(event: K, ...values: FSWatcherEventMap[K]): void {
    try {
      EventEmitter.prototype.emit.call(this, event, ...values)
    } catch (error) {
      queueMicrotask(() => {
        throw error
      })
    }
  }

  /** What is ignored for what it is shows when it is there. */
  #tellRoot(path: string, kind: Kind | undefined): void {
    const isUntold = this.#untold.delete(path)
    if (kind !== undefined && this.#scope.isIgnored(path, kind)) this.unwatch(path)
    else if (isUntold && kind === 'directory') this.#emit('addDir', path)
  }

  #take(changes: readonly Change[]): void {
    const kept: Change[] = []
    let restored: string | undefined
    for (const change of changes) {
      const { path } = change
      if (change.type === 'lost' || change.type === 'restored') {
        // What another root tells, that it lies in.
        if (this.#scope.rootsAbove(path).some((root) => this.#watcher?.has(root))) continue
        this.#tell(eventsOf(kept.splice(0)))
        this.#untold.delete(path)
        if (change.type === 'restored') this.#tellRoot(path, change.kind)
        this.#tell(change.type === 'lost' ? this.#lost(path, change.kind) : this.#found(path))
        // What follows of it has been told with it.
        restored = change.type === 'restored' ? path : undefined
      } else if (restored === undefined || !(path === restored || isBelow(path, restored))) kept.push(change)
    }
    this.#tell(eventsOf(kept))
  }

  #found(root: string): PathEvent[] {
    return [...(this.#watcher?.entries(root) ?? [])].map(({ path, kind }) => added(path, kind, true))
  }

  #lost(root: string, kind: Kind): PathEvent[] {
    const below = this.#watcher === undefined ? [] : [...entriesOfLost(this.#watcher, root)]
    return [{ path: root, kind }, ...below].map((each) => removed(each.path, each.kind)).reverse()
  }

  #tell(events: readonly PathEvent[]): void {
    for (const { event, path, isClosed } of events) {
      const isFile = event !== 'addDir' && event !== 'unlinkDir'
      for (const root of this.#untold) if (isBelow(path, root)) this.#tellRoot(root, 'directory')
      if (this.#scope.isHidden(path, isFile)) continue
      if (event === 'addDir') this.#pace.hurry(path)
      this.#untold.delete(path)
      if (isFile && (this.#isReady || event !== 'add')) this.#pace.tell(event, path, isClosed)
      else this.#emit(event, path)
    }
  }

  #emit(event: EventName, path: string): void {
    if (event === 'addDir' && this.#told.has(path)) return
    if (event === 'addDir' && this.#scope.isRoot(path)) this.#told.add(path)
    if (event === 'unlinkDir') this.#told.delete(path)
    const isThere = this.options.alwaysStat && !event.startsWith('unlink')
    const [entry] = (isThere && this.#watcher?.entries(path)) || []
    const args: EmitArgs = [this.#scope.nameOf(path)]
    if (entry?.stat !== undefined) args.push(statsOf(entry.kind, entry.stat))
    this.#emitTo('raw', event === 'change' ? 'change' : 'rename', basename(path), {
      watchedPath: dirname(path),
    })
    this.#emitTo(event, ...args)
    this.#emitTo('all', event, ...args)
  }
}

/** Watches files and directories, and all that lies below these. Throws TypeError. */
export function watch(paths: string | string[], options?: ChokidarOptions): FSWatcher {
  return new FSWatcher(options).add(paths)
}
