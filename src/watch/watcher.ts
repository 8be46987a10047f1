import { EventEmitter } from 'node:events'
import { resolve } from 'node:path'
import { LONGEST_TIMER } from '../interval.ts'
import type { Engine } from './engine/engine.ts'
import { loadEngine, type OpenEngine, providedEngine } from './engine_part.ts'
import {
  filePath,
  ignoresOf,
  rootPath,
  rootPaths,
  type Settings,
  settingsOf,
  type WatchOptions,
} from './options.ts'
import type { Change } from './report/change.ts'
import type { Coverage } from './report/coverage.ts'
import type { Entry } from './report/entry.ts'
import { encoderOf, pathEncoderOf } from './report/path_encoding.ts'
import type { WatchListener } from './report/reporter.ts'
import { Subscribers } from './report/subscribers.ts'
import { closedError } from './report/watch_error.ts'
import type { WatchSystem } from './system.ts'

/** What was below a root when it was lost, which `lost` does not tell one by one: for who has to tell it so. */
export let entriesOfLost: (watcher: Watcher, path: string) => Iterable<Entry>
/** As add(), of many absolute paths: of files that follow each other in an eighth of the time. Rejects by the first that cannot be added; others may have been, or not. */
export let addTogether: (watcher: Watcher, paths: readonly string[]) => Promise<void>

interface WatcherEventMap<Path extends string | Buffer> {
  ready: []
  changes: [changes: Array<Change<Path>>]
  error: [error: Error]
  close: []
}

/** ms that a call of watch() may take for its first look: see {@link Patience}. */
const PATIENCE_MS = 50

/** Key of a method for this package alone. */
export const lookNow: unique symbol = Symbol('inotify-bridge.lookNow')

/**
 * Watches directories (their entries or, with `recursive`, all that lies below them) and files, and tells what changed. The source is
 * chosen by mount: inotify where every change is delivered, polling where none is, both where others can change it unseen.
 *
 * A change that both see is reported once, and after an overflow exactly what differs is reported.
 *
 * 'ready' · 'changes' (changes) · 'error' (error): something cannot be watched or polled as it should be; if events can no longer be
 * read, the watcher is closed · 'close'
 */
export class Watcher<Path extends string | Buffer = string>
  extends EventEmitter<WatcherEventMap<Path>>
  implements AsyncIterable<Array<Change<Path>>>, AsyncDisposable
{
  /**
   * Resolves when all roots given to watch() are watched, or looked for where they are not there yet. Rejects if one cannot be (the
   * watcher is then closed), and if the watcher is closed before: with the signal's reason, or EBADF.
   */
  readonly ready: Promise<void>
  // Not there before it is loaded, which is before `ready`.
  #engine: Engine | undefined
  readonly #subscribers = new Subscribers<Array<Change<Path>>>()
  readonly #signal: AbortSignal | undefined
  readonly #encodePath: (path: string) => Path
  // All that keeps the process: nothing below does, but for a walk while it lasts.
  readonly #stay: NodeJS.Timeout
  readonly #abort = () => void this.close()
  #open = true
  #closing: Promise<void> | undefined

  /** Use {@link watch}. */
  constructor(paths: string | string[], options: WatchOptions)
  /** @internal */
  constructor(paths: string | string[], options: WatchOptions, system?: WatchSystem)
  constructor(paths: string | string[], options: WatchOptions, system?: WatchSystem) {
    super()
    const roots = rootPaths(paths)
    const settings = settingsOf(options)
    const listener = this.#listenerOf(settings)
    const open = (openEngine: OpenEngine) => {
      if (this.#open) this.#engine = openEngine(settings, system, listener)
    }
    const provided = providedEngine()
    if (provided !== undefined) open(provided)
    this.#signal = settings.signal
    this.#encodePath = pathEncoderOf<Path>(settings.encoding)
    this.#stay = setInterval(() => {}, LONGEST_TIMER)
    if (!settings.persistent) this.unref()
    this.ready = this.#start(roots, async () => open(await loadEngine()))
  }

  /**
   * Looks at the roots within this call, for so many ms, or ten times as long while it is no more than a thousand directories: what happens after it is told, and not only what does after `ready`. To be called right after this has been made.
   * What cannot be looked at now is looked at in its turn, which says what is wrong.
   *
   * @returns why the first directory that cannot be opened, read or watched cannot be
   * @internal
   */
  [lookNow](paths: string | string[], patience: number): unknown {
    if (this.#signal?.aborted) return undefined
    return this.#engine?.lookNow(rootPaths(paths), patience)
  }

  /**
   * Watches one more root: a directory, a file, or a path at which there is nothing yet.
   * @throws {InotifyError} EACCES, ENAMETOOLONG; ENOSPC or EMFILE where the backend was asked for, not chosen; EBADF: closed
   */
  async add(path: string): Promise<void> {
    const absolute = rootPath(path)
    await this.ready
    await this.#running.add(absolute)
  }

  /**
   * Ends the watching of a root, one that is still being added too: nothing is reported of it any more. Does nothing if it is none. Rejects as
   * `ready` does.
   */
  async remove(path: string): Promise<void> {
    const absolute = resolve(path)
    // As add() does: calls reach the engine in the order in which they were made.
    await this.ready
    await this.#running.remove(absolute)
  }

  /**
   * Every change made before this call has been reported when it resolves. Iterators that are full get more than they would otherwise.
   * @throws {InotifyError} EBADF: closed, before or meanwhile
   */
  async sync(): Promise<void> {
    await this.ready
    await this.#subscribers.hurry(() => this.#running.sync())
  }

  /**
   * Replaces `ignore`; undefined: nothing is ignored from now on. All is looked through when it resolves: what is ignored by now has been told as deleted and is not
   * watched any more, what is not ignored any more has been told as created. Rejects as `ready` does.
   * @throws {TypeError} what is no such thing
   * @throws {InotifyError} EBADF: closed
   */
  async setIgnore(ignore: WatchOptions['ignore']): Promise<void> {
    const ignores = ignoresOf(ignore)
    await this.ready
    await this.#running.setIgnores(ignores)
  }

  /**
   * Writes what has been told so far to a file, for the `since` of a watcher to come: names, inode numbers, sizes and times, some 10 to 20 bytes an entry besides its name. Atomically and durably:
   * whoever is killed meanwhile, or finds the disk full, leaves the file that was there. What is changed while this is under way may be told again then; nothing is left out.
   *
   * All that was changed before the call has been told when it resolves, as with {@link sync}.
   * @throws {TypeError} a path that is empty, or has a NUL byte
   * @throws {InotifyError} EBADF: closed, before or meanwhile; ENOSPC, EROFS, EACCES, ENOENT ... as the file cannot be written
   */
  async save(file: string): Promise<void> {
    const absolute = filePath('file', file)
    await this.ready
    await this.#subscribers.hurry(() => this.#running.save(absolute))
  }

  /** Per root, and per mount and followed symlink below it: the source, why, and what is not watched as it should be. */
  coverage(): Coverage[] {
    return this.#engine?.coverage() ?? []
  }

  /**
   * What is at the roots and below them, as far as has been told: what one has who has listed them at `ready` and applied each change since. With a path,
   * what is there, and all that lies below it. Each path once, parents first; nothing of roots that are lost, or not looked at yet.
   *
   * Reads what is known, no file system. Changes may come while you iterate: what has gone by then is left out.
   * @throws {TypeError} a path that is empty, or has a NUL byte
   */
  entries(path?: string): Iterable<Entry<Path>> {
    const absolute = path === undefined ? undefined : rootPath(path)
    return this.#entries(absolute)
  }

  /**
   * Whether there is something at a path, as far as has been told: see {@link entries}.
   * @throws {TypeError} a path that is empty, or has a NUL byte
   */
  has(path: string): boolean {
    const absolute = rootPath(path)
    return this.#open && (this.#engine?.believed.has(absolute) ?? false)
  }

  /** The process stays for the open watcher: undoes {@link unref}, and `persistent: false`. */
  ref(): this {
    this.#stay.ref()
    return this
  }

  /** The process does not stay for the watcher. It does for its first look, until `ready`. */
  unref(): this {
    this.#stay.unref()
    return this
  }

  /** Ends all watching. Idempotent. No change is reported after the call. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * Changes as they are reported, until close(). A slow consumer holds reading back, in the end to an 'overflow' and a rescan. Rejects
   * with the error that ended the watcher, if one did.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<Array<Change<Path>>> {
    return this.#subscribers.iterate()
  }

  static {
    entriesOfLost = (watcher, path) => watcher.#engine?.believed.belowLost(resolve(path)) ?? []
    addTogether = async (watcher, paths) => {
      await watcher.ready
      await watcher.#running.addAll(paths.map(rootPath))
    }
  }

  get #running(): Engine {
    if (this.#engine === undefined) throw closedError()
    return this.#engine
  }

  #listenerOf({ encoding }: Settings): WatchListener {
    const encode = encoderOf<Path>(encoding)
    return {
      changes: (changes) => this.#report(encode(changes)),
      trouble: (error) => {
        if (this.listenerCount('error') > 0) this.#emit('error', error as Error)
      },
      broken: (error) => this.#break(error),
      room: () => this.#subscribers.room(),
    }
  }

  *#entries(path: string | undefined): Generator<Entry<Path>> {
    const believed = this.#engine?.believed
    if (believed === undefined) return
    for (const entry of path === undefined ? believed.all() : believed.at(path)) {
      if (!this.#open) return
      yield { ...entry, path: this.#encodePath(entry.path) }
    }
  }

  async #start(roots: string[], load: () => Promise<void>): Promise<void> {
    // A turn, so that `ready` is there for what follows.
    await undefined
    try {
      if (this.#signal?.aborted) this.#abort()
      else this.#signal?.addEventListener('abort', this.#abort, { once: true })
      if (this.#engine === undefined && this.#open) await load()
      await this.#running.addAll(roots)
      if (!this.#open) throw closedError()
    } catch (error) {
      throw this.#notReady(error)
    }
    this.#emit('ready')
  }

  /** What `ready` rejects with. It may go unhandled, as the only one to tell; but not if the error was told otherwise. */
  #notReady(error: unknown): unknown {
    const unasked = this.#open
    if (unasked && this.listenerCount('error') > 0) this.#emit('error', error as Error)
    if (!unasked || this.listenerCount('error') > 0 || this.#subscribers.size > 0) this.ready.catch(() => {})
    if (!unasked) return this.#signal?.aborted ? this.#signal.reason : error
    this.#closing = this.#close({ error })
    return error
  }

  #break(error: Error): void {
    if (!this.#open) return
    if (this.#subscribers.size === 0 || this.listenerCount('error') > 0) this.#emit('error', error)
    this.#closing = this.#close({ error })
  }

  #report(changes: Array<Change<Path>>): void {
    this.#subscribers.push(changes)
    this.#emit('changes', changes)
  }

  // A listener that throws is an uncaught exception, not a failure of the work that this is part of.
  #emit<K extends keyof WatcherEventMap<Path>>(event: K, ...values: WatcherEventMap<Path>[K]): void {
    queueMicrotask(() => {
      if (event !== 'changes' || this.#open) EventEmitter.prototype.emit.call(this, event, ...values)
    })
  }

  async #close(failure?: { error: unknown }): Promise<void> {
    this.#open = false
    clearInterval(this.#stay)
    this.#signal?.removeEventListener('abort', this.#abort)
    this.#subscribers.end(failure)
    await this.#engine?.close()
    this.#emit('close')
  }
}

/**
 * Watches one or more directories or files. The source is chosen by mount.
 *
 * What happens after the call is reported, in the same turn too: the first look is made within it, and takes 50 ms of it, or up to 500 ms for the first thousand directories of a slow disk. What that has not reached, what is polled and what lies behind
 * followed symlinks or on mounts below is seen by {@link Watcher.ready}: await that, or listen to 'ready', and all changes made from then on are reported. A path at which there is nothing yet is
 * 'restored' when something comes; one that cannot be read rejects ready with an {@link InotifyError} (EACCES).
 *
 * @example
 * await using watcher = watch('/etc/app', { recursive: true })
 * for await (const changes of watcher) for (const { type, path } of changes) console.log(type, path)
 */
export function watch(
  paths: string | string[],
  options: WatchOptions & { encoding: 'buffer' },
): Watcher<Buffer>
export function watch(paths: string | string[], options?: WatchOptions): Watcher
export function watch(paths: string | string[], options: WatchOptions = {}): Watcher | Watcher<Buffer> {
  const watcher =
    options.encoding === 'buffer' ? new Watcher<Buffer>(paths, options) : new Watcher<string>(paths, options)
  watcher[lookNow](paths, PATIENCE_MS)
  return watcher
}
