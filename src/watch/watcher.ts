import { EventEmitter } from 'node:events'
import { resolve } from 'node:path'
import { type InspectOptions, inspect } from 'node:util'
import { invalidArgument } from '../errors.ts'
import { LONGEST_TIMER } from '../interval.ts'
import type { Engine } from './engine/engine.ts'
import { loadEngine, type OpenEngine, providedEngine } from './engine_part.ts'
import { GitHold } from './gitignore/git_hold.ts'
import { GitRules } from './gitignore/git_rules.ts'
import { allOf, type Ignores, ignoresOf } from './ignores.ts'
import { filePath, rootPath, rootPaths, settingsOf, type WatchOptions } from './options.ts'
import { type Change, type Entry, encodePaths, pathEncoderOf } from './report/change.ts'
import type { Coverage } from './report/coverage.ts'
import { warnOfRoots } from './report/mistakes.ts'
import { matcherOf, type NextOptions } from './report/next_change.ts'
import type { WatchListener } from './report/reporter.ts'
import { Subscribers } from './report/subscribers.ts'
import { closedError } from './report/watch_error.ts'
import type { WatchSystem } from './system.ts'

/** Returns the entries that a lost root had. For adapters that must emit a delete for each. */
export let entriesOfLost: (watcher: Watcher, path: string) => Iterable<Entry>
/** Adds many absolute paths: consecutive files take an eighth of the time of add(). Rejects by the first that fails; others may have been added, or not. */
export let addTogether: (watcher: Watcher, paths: readonly string[]) => Promise<void>

/** Lets the watcher warn of paths that are most likely a mistake. The faces of other libraries do as those do, and warn of none. */
export let warnOfMistakes: (watcher: Watcher) => void

interface WatcherEventMap<Path extends string | Buffer> {
  ready: []
  changes: [changes: Array<Change<Path>>]
  error: [error: Error]
  close: []
}

/**
 * Looks at the roots of a watcher within this call, for `patience` ms, or ten times as long up to a thousand directories: changes after the call are told, not only those
 * after `ready`. To be called right after the constructor. Roots not reached now are looked at in their turn, which says what is wrong.
 *
 * Returns the error of the first directory that cannot be opened, read or watched.
 */
export let lookNow: (
  watcher: Watcher | Watcher<Buffer>,
  paths: string | string[],
  patience: number,
) => unknown

/**
 * A running watch, made by {@link watch}. `Path` is Buffer with `encoding: 'buffer'`.
 *
 * Events:
 * - `'ready'`: with {@link ready}.
 * - `'changes'` (changes): something changed. Changes that are reported while there is neither a listener nor an iterator are gone.
 * - `'error'` (error): something cannot be watched or polled as it should be (ENOSPC: the message names the sysctl); the rest goes on. Emitted only if somebody listens. If events can no
 *   longer be read, the watcher is closed, and without a listener or an iterator this is an uncaught exception.
 * - `'close'`: the watcher is closed.
 */
export class Watcher<Path extends string | Buffer = string>
  extends EventEmitter<WatcherEventMap<Path>>
  implements AsyncIterable<Array<Change<Path>>>, AsyncDisposable
{
  /**
   * Resolves when all roots given to watch() are watched, or awaited where they are not there yet. Rejects, and closes the watcher, if one cannot be watched: EACCES,
   * ENAMETOOLONG; with `backend: 'inotify'` also ENOSPC, EMFILE, EPERM, ENOSYS. Rejects if the watcher is closed before: with the signal's reason, or EBADF.
   */
  readonly ready: Promise<void>
  // Undefined until the engine is loaded, which is before `ready`.
  #engine: Engine | undefined
  readonly #subscribers = new Subscribers<Change<Path>>(() => this.#onLeft())
  readonly #signal: AbortSignal | undefined
  readonly #encodePath: (path: string) => Path
  // The option `ignore`, or what setIgnore() was given since.
  #ignores: Ignores | undefined
  readonly #only: Ignores | undefined
  readonly #git: GitRules | undefined
  readonly #held: GitHold | undefined
  #warns = false
  // The only handle that keeps the process alive, but for a walk while it lasts.
  readonly #stay: NodeJS.Timeout
  readonly #abort = () => void this.close()
  #open = true
  #closing: Promise<void> | undefined

  /** @hidden */
  constructor(paths: string | string[], options: WatchOptions)
  /** @internal */
  constructor(paths: string | string[], options: WatchOptions, system?: WatchSystem)
  constructor(paths: string | string[], options: WatchOptions, system?: WatchSystem) {
    super()
    const roots = rootPaths(paths)
    const settings = settingsOf(options)
    if (settings.relay !== undefined && roots.length !== 1)
      throw invalidArgument('paths', roots, 'one path with `relay`, which tells of one directory')
    const listener = this.#listener()
    const open = (openEngine: OpenEngine) => {
      if (this.#open)
        this.#engine = openEngine({ ...settings, ignores: this.#allIgnores() }, system, listener)
    }
    this.#ignores = settings.ignores
    this.#only = settings.only
    if (settings.gitignore) {
      const { backend, interval } = settings
      const elsewhere = new Watcher([], { backend, interval, persistent: false })
      elsewhere.on('error', (error) => this.#emitIfHeard(error, () => this.#open))
      this.#git = new GitRules(elsewhere, () => this.#applyIgnores())
    }
    if (settings.deferGit) {
      this.#held = new GitHold({
        queued: () => this.#running.queued(),
        sync: () => this.#syncAll(),
        tell: (changes) => this.#report(changes),
      })
    }
    const provided = providedEngine()
    if (provided !== undefined) open(provided)
    this.#signal = settings.signal
    // Within the call, as the caller may close the watcher within the same turn.
    this.#signal?.addEventListener('abort', this.#abort, { once: true })
    this.#encodePath = pathEncoderOf<Path>(settings.encoding)
    this.#stay = setInterval(() => {}, LONGEST_TIMER)
    if (!settings.persistent) this.unref()
    this.ready = this.#start(roots, async () => open(await loadEngine()))
  }

  /**
   * Watches one more root: a directory, a file, or a path at which there is nothing yet. Does nothing if the root is watched already.
   * @throws InotifyError: as {@link ready}; EBADF: closed
   */
  async add(path: string): Promise<void> {
    const absolute = rootPath(path)
    await this.ready
    await this.#running.rootSet.add(absolute)
    this.#git?.watchAbove([absolute])
    this.#warnOf([absolute])
  }

  /**
   * Stops watching a root, also one that is still being added. Nothing is reported of it afterwards. Does nothing if the path is no root.
   * @throws InotifyError: as {@link ready}
   */
  async remove(path: string): Promise<void> {
    const absolute = resolve(path)
    // As add() does: calls reach the engine in the order in which they were made.
    await this.ready
    await this.#running.rootSet.remove(absolute)
    this.#held?.flush()
    await this.#git?.leave(absolute, this.#running.roots)
  }

  /**
   * Resolves when every change made before the call has been reported: waits for the kernel's queue, polls what is polled, and reports what `settle` holds back.
   * @throws InotifyError: EBADF: closed, before or meanwhile; EMFILE, ENFILE, ENOMEM, EAGAIN: a poll lacks a descriptor or memory
   */
  async sync(): Promise<void> {
    await this.ready
    await this.#subscribers.hurry(() => this.#syncAll())
    this.#held?.flush()
  }

  /**
   * Replaces the option `ignore`; `undefined`: nothing is ignored from now on. When it resolves, paths that are ignored now have been reported as deleted and have no watch, and paths that
   * are no longer ignored as created.
   * @throws TypeError: a value that `ignore` does not take
   * @throws InotifyError: as {@link ready}; EBADF: closed
   */
  async setIgnore(ignore: WatchOptions['ignore']): Promise<void> {
    const ignores = ignoresOf(ignore)
    await this.ready
    this.#ignores = ignores
    await this.#applyIgnores()
    this.#held?.flush()
    this.#warnOf(this.#running.roots)
  }

  /**
   * Writes the tree as reported so far to a file, for the option `since` of a later watcher: of each entry its name, inode number, mode, size and times, at most 40 bytes an entry besides its
   * name. The file is replaced atomically and durably; a new one has the mode 0600. Promises: docs/semantics.md, S49 to S53.
   *
   * Every change made before the call has been reported when it resolves, as with {@link sync}.
   * @throws TypeError: a path that is empty, or has a NUL byte
   * @throws InotifyError: EBADF: closed, before or meanwhile; ENOSPC, EROFS, EACCES, ENOENT ...: the file cannot be written, and the file before is as it was
   */
  async save(file: string): Promise<void> {
    const absolute = filePath('file', file)
    await this.ready
    if (this.#git !== undefined) await this.sync()
    await this.#subscribers.hurry(() => this.#running.save(absolute))
    this.#held?.flush()
  }

  /**
   * Returns one row for each root, and for each mount and followed link to a directory below it: the source, why, and the paths that are not watched as chosen.
   */
  coverage(): Coverage[] {
    return this.#engine?.coverage() ?? []
  }

  /**
   * Returns the tree as reported so far: all roots and everything below them, or a path and everything below it. Each path comes once, parents first. Roots that are lost, or not looked
   * at yet, have none.
   *
   * Asks no filesystem. Changes may come while you iterate: entries that have gone by then are left out.
   * @throws TypeError: a path that is empty, or has a NUL byte
   */
  entries(path?: string): Iterable<Entry<Path>> {
    const absolute = path === undefined ? undefined : rootPath(path)
    return this.#entries(absolute)
  }

  /**
   * Returns true if the tree as reported so far has an entry at a path: see {@link entries}.
   * @throws TypeError: a path that is empty, or has a NUL byte
   */
  has(path: string): boolean {
    const absolute = rootPath(path)
    const engine = this.#engine
    return this.#open && engine?.believed.has(absolute) === true && !engine.holdsCreate(absolute)
  }

  /**
   * Resolves with the first change that matches, of those that are told from the call on. Call it before the act that makes the change: `const told = watcher.next({ path }); await writeFile(path, text); await told`. To wait for
   * two changes, call it twice before: both may come in one array.
   * @throws TypeError: an option that does not exist, or of the wrong type or value
   * @throws the signal's reason
   * @throws InotifyError: as {@link ready}; EBADF: closed, before or meanwhile; or the error that ended the watcher, as 'error' has it
   */
  async next<const Type extends Change['type'] = Change['type']>(
    options: NextOptions<Type> = {},
  ): Promise<Change<Path> & { type: Type }> {
    const matches = matcherOf(options)
    const found = await this.#subscribers.first(matches, options.signal)
    if (found !== undefined) return found as Change<Path> & { type: Type }
    await this.ready
    throw closedError()
  }

  /** Lets the open watcher keep the process alive: undoes {@link unref}, and `persistent: false`. */
  ref(): this {
    this.#stay.ref()
    return this
  }

  /** Lets the process end though the watcher is open; it stays for the first look in any case, until {@link ready}. */
  unref(): this {
    this.#stay.unref()
    return this
  }

  /** Stops all watching. Idempotent. No change is reported after the call. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** Calls {@link close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * Gives changes until {@link close}: all that have been reported since the loop last asked, as one array. A slow consumer holds reading back, in the end to an `'overflow'` and a rescan. Rejects
   * with the error that ended the watcher, if one did.
   *
   * Leaving the loop closes the watcher, unless another loop, a listener of 'changes', or {@link next} is there to hear more.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<Array<Change<Path>>> {
    return this.#subscribers.iterate()
  }

  /** @internal */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    const roots = [...(this.#engine?.roots ?? [])]
    return `Watcher ${inspect({ open: this.#open, roots, ready: this.ready }, options)}`
  }

  static {
    warnOfMistakes = (watcher) => {
      watcher.#warns = true
    }
    lookNow = (watcher, paths, patience) =>
      watcher.#signal?.aborted ? undefined : watcher.#engine?.rootSet.lookNow(rootPaths(paths), patience)
    entriesOfLost = (watcher, path) => watcher.#engine?.believed.belowLost(resolve(path)) ?? []
    addTogether = async (watcher, paths) => {
      await watcher.ready
      await watcher.#running.rootSet.addAll(paths.map(rootPath))
    }
  }

  get #running(): Engine {
    if (this.#engine === undefined) throw closedError()
    return this.#engine
  }

  #listener(): WatchListener {
    return {
      changes: (changes) => {
        this.#git?.note(changes)
        if (this.#held === undefined) this.#report(changes)
        else this.#held.take(changes)
      },
      trouble: (error) => this.#emitIfHeard(error as Error, () => this.#open),
      broken: (error) => this.#break(error),
      room: () => this.#subscribers.room(),
    }
  }

  *#entries(path: string | undefined): Generator<Entry<Path>> {
    const engine = this.#engine
    if (engine === undefined) return
    const { believed } = engine
    for (const entry of path === undefined ? believed.all() : believed.at(path)) {
      if (!this.#open) return
      if (!engine.holdsCreate(entry.path)) yield { ...entry, path: this.#encodePath(entry.path) }
    }
  }

  async #start(roots: string[], load: () => Promise<void>): Promise<void> {
    // Waits a turn, so that `ready` is there for what follows.
    await undefined
    try {
      if (this.#signal?.aborted) this.#abort()
      if (this.#engine === undefined && this.#open) await load()
      await this.#running.rootSet.addAll(roots)
      this.#warnOf(roots)
      if (!this.#open) throw closedError()
      this.#git?.watchAbove(roots)
    } catch (error) {
      throw this.#notReady(error)
    }
    this.#held?.flush()
    this.#emit('ready')
  }

  async #syncAll(): Promise<void> {
    await this.#running.sync()
    await this.#git?.settled()
  }

  async #applyIgnores(): Promise<void> {
    await this.#running.setIgnores(this.#allIgnores())
  }

  #allIgnores(): Ignores | undefined {
    const ignores = allOf(this.#ignores, this.#only)
    return this.#git === undefined ? ignores : this.#git.with(ignores)
  }

  #warnOf(roots: Iterable<string>): void {
    if (this.#warns) warnOfRoots(roots, this.#running.believed, this.#ignores)
  }

  /** Returns the error that `ready` rejects with. The rejection may go unhandled only if nothing else tells the error. */
  #notReady(error: unknown): unknown {
    const told = () => void this.ready.catch(() => {})
    if (!this.#open || this.#subscribers.size > 0) told()
    if (!this.#open) return this.#signal?.aborted ? this.#signal.reason : error
    this.#emitIfHeard(error as Error, () => {
      told()
      return true
    })
    this.#closing = this.#close({ error })
    return error
  }

  async #onLeft(): Promise<void> {
    if (!this.#open || this.listenerCount('changes') > 0) return
    // A caller that iterates once more is told, and does not take the end of the loop for the end of all changes.
    this.#closing = this.#close({ error: closedError('leaving its only loop has closed this watcher') })
    await this.#closing
  }

  #break(error: Error): void {
    if (!this.#open) return
    if (this.#subscribers.size === 0) this.#emit('error', error)
    else this.#emitIfHeard(error)
    this.#closing = this.#close({ error })
  }

  #report(changes: Change[]): void {
    const encoded = encodePaths(changes, this.#encodePath)
    this.#subscribers.push(encoded)
    this.#emit('changes', encoded)
  }

  // A listener that throws is an uncaught exception, not a failure of the work that emits.
  #emit<K extends keyof WatcherEventMap<Path>>(event: K, ...values: WatcherEventMap<Path>[K]): void {
    queueMicrotask(() => {
      if (event === 'error' || event === 'close' || this.#open)
        EventEmitter.prototype.emit.call(this, event, ...values)
    })
  }

  /** Emits the error if there is a listener at that time: a listener of once() may have got another error of the same turn. */
  #emitIfHeard(error: Error, mayTell = () => true): void {
    queueMicrotask(() => {
      if (this.listenerCount('error') > 0 && mayTell()) EventEmitter.prototype.emit.call(this, 'error', error)
    })
  }

  async #close(failure?: { error: unknown }): Promise<void> {
    this.#open = false
    clearInterval(this.#stay)
    this.#signal?.removeEventListener('abort', this.#abort)
    this.#subscribers.end(failure)
    // To nobody, by now: so that nothing looks for a lock any more.
    this.#held?.flush()
    await Promise.all([this.#engine?.close(), this.#git?.close()])
    this.#emit('close')
  }
}
