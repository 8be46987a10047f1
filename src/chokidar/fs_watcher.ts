import { EventEmitter } from 'node:events'
import { basename, dirname, join, normalize, relative, resolve } from 'node:path'
import { invalidArgument } from '../errors.ts'
import type { Change, Kind } from '../watch/report/change.ts'
import { entriesOfLost, Watcher } from '../watch/watcher.ts'
import { added, eventsOf, type PathEvent, removed } from './events.ts'
import { ignoredBy, isBelow, type MatchFunction, OF_EDITORS } from './ignored.ts'
import { type ChokidarOptions, type EmitArgs, type Settings, settingsOf, watchOptionsOf } from './options.ts'
import { Pace } from './pace.ts'
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
  readonly options: Settings
  closed = false
  readonly #isIgnored: MatchFunction
  readonly #pace: Pace
  // By their absolute paths, what they were called.
  readonly #roots = new Map<string, string>()
  readonly #unwatched = new Set<string>()
  // Roots that are still to be told, before what is in them.
  readonly #untold = new Set<string>()
  #watcher: Watcher | undefined
  #work = Promise.resolve()
  #isReady = false

  constructor(options: ChokidarOptions = {}) {
    super()
    this.options = settingsOf(options)
    this.#isIgnored = ignoredBy(this.options.ignored, this.options.cwd)
    this.#pace = new Pace(this.options, (event, path) => this.#emit(event, path))
  }

  /** Watches these as well: files, directories, and what is not there yet. Throws TypeError. */
  add(paths: string | string[]): this {
    const names = arrayOf(paths).filter((name) => !this.#isIgnored(name))
    const roots = names.map((name) => [this.#absolute(name), name] as const)
    for (const [path, name] of roots) this.#roots.set(path, name)
    this.#enqueue(() => this.#addAll(roots.map(([path]) => path)))
    return this
  }

  /** Nothing is told of these any more, nor of what lies below them. Throws TypeError. */
  unwatch(paths: string | string[]): this {
    const gone = arrayOf(paths).map((name) => this.#absolute(name))
    for (const path of gone) this.#unwatched.add(path)
    this.#pace.forget((path) => this.#isUnwatched(path))
    this.#enqueue(async () => {
      for (const path of gone) if (this.#roots.delete(path)) await this.#watcher?.remove(path)
      await this.#watcher?.setIgnore(this.#ignore())
    })
    return this
  }

  /** Ends all watching, and takes all listeners away. */
  async close(): Promise<void> {
    this.closed = true
    this.removeAllListeners()
    this.#pace.forget(() => true)
    await this.#watcher?.close()
  }

  /** The names in each directory that is watched, and in those in which roots lie. */
  getWatched(): Record<string, string[]> {
    const { cwd } = this.options
    const watched: Record<string, string[]> = {}
    const namesIn = (directory: string) => {
      const key = cwd === undefined ? directory : relative(cwd, directory) || '.'
      watched[key] ??= []
      return watched[key]
    }
    for (const { path, kind } of this.#watcher?.entries() ?? []) {
      if (this.#isHidden(path, kind !== 'directory')) continue
      namesIn(dirname(path)).push(basename(path))
      if (kind === 'directory') namesIn(path)
    }
    for (const names of Object.values(watched)) names.sort()
    return watched
  }

  #absolute(path: string): string {
    return resolve(this.options.cwd ?? '', path)
  }

  /** As users call the root that it lies in. */
  #nameOf(path: string): string {
    const { cwd } = this.options
    if (cwd !== undefined) return relative(cwd, path)
    let root = path
    while (root !== '/' && !this.#roots.has(root)) root = dirname(root)
    return join(this.#roots.get(root) ?? root, relative(root, path))
  }

  #isHidden(path: string, isFile: boolean): boolean {
    if (this.#isUnwatched(path) || (this.options.atomicMs > 0 && OF_EDITORS.test(path))) return true
    return isFile && this.options.followSymlinks && this.#matches(path, 'file')
  }

  #matches(path: string, kind: Kind | undefined): boolean {
    if (this.options.ignored.length === 0) return false
    const name = this.options.cwd === undefined ? this.#nameOf(path) : path
    return this.#isIgnored(name, kind && statsOf(kind))
  }

  #isUnwatched(path: string): boolean {
    for (const each of this.#unwatched) if (path === each || isBelow(path, each)) return true
    return false
  }

  /** With none, large trees are watched at less cost. */
  #ignore(): ((path: string, kind: Kind) => boolean) | undefined {
    if (this.options.ignored.length + this.#unwatched.size === 0) return undefined
    return (path, kind) => {
      // Of a link that is followed nobody knows yet what it is.
      const isUnknown = kind === 'symlink' && this.options.followSymlinks
      return this.#isUnwatched(path) || this.#matches(path, isUnknown ? undefined : kind)
    }
  }

  /** One after another, in the order in which it was asked for. */
  #enqueue(work: () => Promise<void>): void {
    const next = async () => (this.closed ? undefined : await work())
    this.#work = this.#work.then(next).catch((error) => this.#fail(error))
  }

  async #addAll(paths: readonly string[]): Promise<void> {
    const watcher = this.#watcher ?? this.#open()
    const isBack = paths.map((path) => this.#unwatched.delete(path)).includes(true)
    if (isBack) await watcher.setIgnore(this.#ignore())
    for (const path of paths) {
      if (!this.options.ignoreInitial) this.#untold.add(path)
      await watcher.add(path).catch((error) => this.#fail(error))
      const [root] = watcher.entries(path)
      this.#tellRoot(path, root?.kind)
    }
    if (!this.#isReady && !this.closed) this.emit('ready')
    this.#isReady = true
  }

  #open(): Watcher {
    const watcher = new Watcher([], { ...watchOptionsOf(this.options), ignore: this.#ignore() ?? [] })
    watcher.on('changes', (changes) => this.#take(changes)).on('error', (error) => this.#fail(error))
    this.#watcher = watcher
    return watcher
  }

  #fail(error: unknown): void {
    const isPermission = /^(EACCES|EPERM)$/.test((error as NodeJS.ErrnoException).code ?? '')
    if (!this.closed && !(isPermission && this.options.ignorePermissionErrors)) this.emit('error', error)
  }

  #tellRoot(path: string, kind: Kind | undefined): void {
    if (this.#untold.delete(path) && kind === 'directory') this.#emit('addDir', path)
  }

  /** Whether what is at the path of a root is told by another root, that it lies in. */
  #isCovered(path: string): boolean {
    const { depth = Number.POSITIVE_INFINITY } = this.options
    const isIn = (root: string) => isBelow(path, root) && relative(root, path).split('/').length - 1 <= depth
    return [...this.#roots.keys()].some((root) => isIn(root) && this.#watcher?.has(root))
  }

  #take(changes: readonly Change[]): void {
    const kept: Change[] = []
    let restored: string | undefined
    for (const change of changes) {
      const { path } = change
      if (change.type === 'lost' || change.type === 'restored') {
        if (this.#isCovered(path)) continue
        this.#tell(eventsOf(kept.splice(0)))
        this.#tell(change.type === 'lost' ? this.#lost(path, change.kind) : this.#found(path))
        // What follows of it has been told with it.
        restored = change.type === 'restored' ? path : undefined
      } else if (restored === undefined || !(path === restored || isBelow(path, restored))) kept.push(change)
    }
    this.#tell(eventsOf(kept))
  }

  #found(root: string): PathEvent[] {
    this.#untold.delete(root)
    return [...(this.#watcher?.entries(root) ?? [])].map(({ path, kind }) => added(path, kind, true))
  }

  #lost(root: string, kind: Kind): PathEvent[] {
    const below = this.#watcher === undefined ? [] : [...entriesOfLost(this.#watcher, root)]
    return [{ path: root, kind }, ...below].map((each) => removed(each.path, each.kind)).reverse()
  }

  #tell(events: readonly PathEvent[]): void {
    for (const { event, path, isClosed } of events) {
      const isFile = event !== 'addDir' && event !== 'unlinkDir'
      if (this.#isHidden(path, isFile)) continue
      for (const root of this.#untold) if (isBelow(path, root)) this.#tellRoot(root, 'directory')
      if (isFile && (this.#isReady || event !== 'add')) this.#pace.tell(event, path, isClosed)
      else this.#emit(event, path)
    }
  }

  #emit(event: EventName, path: string): void {
    const isThere = this.options.alwaysStat && !event.startsWith('unlink')
    const [entry] = (isThere && this.#watcher?.entries(path)) || []
    const args: EmitArgs = [this.#nameOf(path)]
    if (entry?.stat !== undefined) args.push(statsOf(entry.kind, entry.stat))
    this.emit('raw', event === 'change' ? 'change' : 'rename', basename(path), { watchedPath: dirname(path) })
    this.emit(event, ...args)
    this.emit('all', event, ...args)
  }
}

function arrayOf(paths: string | string[]): string[] {
  return [paths].flat().map((path) => {
    if (typeof path !== 'string' || path === '') throw invalidArgument('paths', path, 'strings, not empty')
    return normalize(path).replace(/(.)\/$/, '$1')
  })
}

/** Watches files and directories, and all that lies below these. Throws TypeError. */
export function watch(paths: string | string[], options?: ChokidarOptions): FSWatcher {
  return new FSWatcher(options).add(paths)
}
