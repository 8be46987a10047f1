import { EventEmitter } from 'node:events'
import { basename, dirname, relative } from 'node:path'
import { type Change, isClose } from '../watch/report/change.ts'
import { addTogether, entriesOfLost, Watcher } from '../watch/watcher.ts'
import { eventsOf, type PathEvent } from './events.ts'
import { type ChokidarOptions, type EmitArgs, type EventName, settingsOf } from './options.ts'
import { Pace } from './pace.ts'
import { Scope } from './scope.ts'
import { statsAt } from './stats.ts'

/** The events of {@link FSWatcher}, with their arguments. */
export type FSWatcherEventMap = Record<EventName, EmitArgs> & {
  all: [event: EventName, ...EmitArgs]
  raw: [event: string, name: string, details: { watchedPath: string }]
  ready: []
  error: [error: unknown]
}

/**
 * As chokidar's. Events: `'add'`, `'addDir'`, `'change'`, `'unlink'`, `'unlinkDir'` (path, stats) · `'all'` (event, path, stats) · `'ready'` · `'error'` (error) · `'raw'`
 */
export class FSWatcher extends EventEmitter<FSWatcherEventMap> {
  /** The options with their defaults. */
  readonly options: ReturnType<typeof settingsOf>
  /** True after close(). */
  closed = false
  #scope: Scope
  readonly #pace: Pace
  // Roots that are there, as has been told, and those that are lost: of what lies in another root as well watch() may say so twice.
  readonly #told = new Map<string, boolean>()
  #watcher: Watcher | undefined
  #work = Promise.resolve()
  #isReady = false
  #closing = Promise.resolve()

  /** Watches nothing until {@link add}. */
  constructor(options: ChokidarOptions = {}) {
    super()
    this.options = settingsOf(options)
    this.#scope = new Scope(this.options)
    this.#pace = new Pace(this.options, (event, path) => this.#emit(event, path))
  }

  /** Watches these as well: files, directories, and paths that do not exist yet. After close() it begins anew. Throws TypeError. */
  add(paths: string | string[]): this {
    const { roots, isBack } = this.#scope.add(paths)
    this.closed = false
    if (roots.length === 0) return this
    this.#watcher ??= this.#open()
    if (isBack) this.#enqueue((watcher) => watcher.setIgnore(this.#scope.ignore()))
    this.#enqueue((watcher) => this.#addAll(watcher, roots))
    return this
  }

  /** Ignores these from now on, and everything below them. Throws TypeError. */
  unwatch(paths: string | string[]): this {
    const roots = this.#scope.unwatch(paths)
    for (const root of roots) this.#told.delete(root)
    this.#pace.forget((path) => this.#scope.isIgnored(path))
    this.#enqueue(async (watcher) => {
      for (const root of roots) await watcher.remove(root)
      await watcher.setIgnore(this.#scope.ignore())
    })
    return this
  }

  /** Stops all watching, and removes all listeners. */
  close(): Promise<void> {
    if (this.closed) return this.#closing
    this.#closing = this.#watcher?.close() ?? Promise.resolve()
    this.#watcher = undefined
    this.closed = true
    this.#isReady = false
    this.#scope = new Scope(this.options)
    this.#told.clear()
    this.#pace.forget(() => true)
    this.removeAllListeners()
    return this.#closing
  }

  /** Lets the watcher keep the process alive, as any that is `persistent`. */
  ref(): this {
    this.#watcher?.ref()
    return this
  }

  /** Lets the process end though the watcher is open. */
  unref(): this {
    this.#watcher?.unref()
    return this
  }

  /** Returns the names in each directory that is watched, and in those in which roots lie. */
  getWatched(): Record<string, string[]> {
    const { cwd } = this.options
    const nameOf = (path: string) => (cwd === undefined ? path : relative(cwd, path) || '.')
    const watched: Record<string, string[]> = Object.create(null)
    for (const { path, kind } of this.#watcher?.entries() ?? []) {
      if (this.#scope.isHidden(path, kind)) continue
      const above = nameOf(dirname(path))
      watched[above] ??= []
      watched[above].push(basename(path))
      if (kind === 'directory') watched[nameOf(path)] ??= []
    }
    for (const names of Object.values(watched)) names.sort()
    return { ...watched }
  }

  #open(): Watcher {
    const { persistent, followSymlinks, depth, interval } = this.options
    const watcher = new Watcher([], {
      recursive: true,
      expand: true,
      settle: 0,
      persistent,
      initial: !this.options.ignoreInitial,
      followSymlinks,
      followRoots: followSymlinks,
      depth,
      backend: this.options.usePolling ? 'poll' : 'auto',
      interval: Math.max(1, interval),
      ignore: this.#scope.ignore() ?? [],
    })
    watcher.on('changes', (changes) => this.#take(watcher, changes))
    watcher.on('error', (error) => this.#fail(watcher, error))
    return watcher
  }

  /** One after another, in the order in which it was asked for. When nothing is left, it is ready. */
  #enqueue(work: (watcher: Watcher) => Promise<void>): void {
    const watcher = this.#watcher
    if (watcher === undefined) return
    const done = this.#work.then(async () => {
      await work(watcher).catch((error) => this.#fail(watcher, error))
      if (this.#isReady || this.#work !== done || this.#watcher !== watcher) return
      this.#isReady = true
      this.#emitTo('ready')
    })
    this.#work = done
  }

  async #addAll(watcher: Watcher, paths: readonly string[]): Promise<void> {
    // One may have been unwatched meanwhile.
    const roots = paths.filter((path) => !this.#scope.isIgnored(path))
    for (const path of roots) if (this.options.ignoreInitial || watcher.has(path)) this.#told.set(path, true)
    // If one root cannot be added, each is added by itself.
    const alone = (path: string) => watcher.add(path).catch((error) => this.#fail(watcher, error))
    await addTogether(watcher, roots).catch(() => Promise.all(roots.map(alone)))
    for (const path of roots) {
      const [root] = watcher.entries(path)
      if (root === undefined) this.#told.delete(path)
      else this.#tell('add', path, root.kind, true)
    }
  }

  #fail(watcher: Watcher, error: unknown): void {
    const isPermission = /^(EACCES|EPERM)$/.test((error as NodeJS.ErrnoException).code ?? '')
    const isWanted = !(isPermission && this.options.ignorePermissionErrors)
    if (this.#watcher === watcher && isWanted) this.#emitTo('error', error)
  }

  // A listener's error is an uncaught exception and ends no other event. So is an 'error' without a listener.
  #emitTo<K extends keyof FSWatcherEventMap>(event: K, ...values: FSWatcherEventMap[K]): void {
    try {
      EventEmitter.prototype.emit.call(this, event, ...values)
    } catch (error) {
      queueMicrotask(() => {
        throw error
      })
    }
  }

  #take(watcher: Watcher, changes: readonly Change[]): void {
    let restored: string | undefined
    for (const change of changes) {
      // A listener has closed it.
      if (this.#watcher !== watcher) return
      if ('mask' in change) {
        // Later changes of a restored root have been told with it.
        if (restored !== undefined && this.#scope.rootOf(change.path) === restored) continue
        if (isClose(change)) this.#pace.close(change.path)
        else for (const event of eventsOf(change)) this.#tell(...event)
      } else if (change.type === 'lost' && this.#told.get(change.path)) {
        const gone = [change, ...entriesOfLost(watcher, change.path)].reverse()
        for (const { path, kind } of gone) this.#tell('unlink', path, kind, true)
        this.#told.set(change.path, false)
      } else if (change.type === 'restored' && !this.#told.get(change.path)) {
        restored = change.path
        for (const { path, kind } of watcher.entries(restored)) this.#tell('add', path, kind, true)
      }
    }
  }

  #tell(...[type, path, kind, isClosed]: PathEvent): void {
    const isThere = type !== 'unlink'
    const above = path === '/' ? undefined : this.#scope.rootOf(dirname(path))
    const isAboveTold = above === undefined || this.#told.get(above)
    const isRoot = this.#scope.rootOf(path) === path
    // A root before what is in it, which is lost with it.
    if (isThere && above && !isAboveTold) this.#tell('add', above, 'directory', true)
    if (!isThere && !isRoot && isAboveTold === false) return
    const isHidden = this.#scope.isHidden(path, kind)
    // A root that is ignored for its kind shows so only when it is there.
    if (isRoot && isHidden) this.unwatch(path)
    if (isHidden || (isRoot && type !== 'change' && Boolean(this.#told.get(path)) === isThere)) return
    if (isRoot && isThere) this.#told.set(path, true)
    else this.#told.delete(path)
    const event = kind !== 'directory' ? type : isThere ? 'addDir' : 'unlinkDir'
    if (event === 'add' && !this.#isReady) this.#emit(event, path)
    else this.#pace.tell(event, path, isClosed)
  }

  #emit(event: EventName, path: string): void {
    const { alwaysStat, followSymlinks } = this.options
    const stats = alwaysStat && !event.startsWith('unlink') ? statsAt(path, followSymlinks) : undefined
    const args: EmitArgs = [this.#scope.nameOf(path)]
    if (stats !== undefined) args.push(stats)
    const details = { watchedPath: dirname(path) }
    this.#emitTo('raw', event === 'change' ? 'change' : 'rename', basename(path), details)
    this.#emitTo(event, ...args)
    this.#emitTo('all', event, ...args)
  }
}

/** Watches files and directories, and everything below these. Throws TypeError. What differs from chokidar: docs/chokidar.md. */
export function watch(paths: string | string[], options?: ChokidarOptions): FSWatcher {
  return new FSWatcher(options).add(paths)
}
