import { EventEmitter } from 'node:events'
import { resolve } from 'node:path'
import { debuglog } from 'node:util'
import { InotifyError } from '../errors.ts'
import { BatchIterator } from '../inotify/iterator.ts'
import { type Backend, chooseBackend } from '../mounts/filesystems.ts'
import { mountOf } from '../mounts/mount_of.ts'
import type { Change, RootChange, Source } from './change.ts'
import { difference, type Entries, type Entry } from './entries.ts'
import { InotifySource, type NameEvent } from './inotify_source.ts'
import { type Settings, settle, type WatchOptions } from './options.ts'
import { Root } from './root.ts'
import { Translator } from './translate.ts'

/** Where the changes of a root come from: see {@link Watcher.coverage}. */
export interface Coverage {
  path: string
  backend: Backend
  /** One sentence: what the mount's type delivers, or who decided otherwise. */
  why: string
  directories: number
  /** What could not be watched as chosen. */
  uncovered: Array<{ path: string; error: Error }>
}

interface WatcherEventMap {
  ready: []
  changes: [changes: Change[]]
  error: [error: Error]
  close: []
}

// The halves of a rename were measured 0.44 ms apart at most, with a read in between at the worst.
const PAIRING_MS = 10

const trace = debuglog('inotify-bridge')

/**
 * Watches directories (their entries; what lies deeper is not watched yet) and tells what changed. Each root's source is chosen by
 * its mount: inotify where every change is delivered, polling where none is, both where others can change it unseen.
 *
 * Events are hints: they are held against what is believed of the directory. So a change that two sources tell of is reported once,
 * and after an overflow exactly what differs is reported.
 *
 * 'ready' · 'changes' (changes) · 'error' (error) · 'close'
 */
export class Watcher
  extends EventEmitter<WatcherEventMap>
  implements AsyncIterable<Change[]>, AsyncDisposable
{
  /** Settles when all roots given to watch() are watched. Rejects if one cannot be; the watcher is then closed. */
  readonly ready: Promise<void>
  readonly #settings: Settings
  readonly #roots = new Map<string, Root>()
  readonly #translator = new Translator()
  readonly #iterators = new Set<BatchIterator<Change[]>>()
  readonly #abort = () => void this.close()
  #inotify: InotifySource | undefined
  // Events, polls and rescans change what is believed, each over several awaits: one at a time.
  #work: Promise<void> = Promise.resolve()
  #pollTimer: NodeJS.Timeout | undefined
  #pairingTimer: NodeJS.Timeout | undefined
  #onRoom: (() => void) | undefined
  #closing: Promise<void> | undefined

  /** Use {@link watch}. */
  constructor(paths: string | string[], options: WatchOptions) {
    super()
    this.#settings = settle(options)
    this.ready = this.#start(Array.isArray(paths) ? paths : [paths])
    this.ready.catch((error: Error) => {
      if (this.listenerCount('error') > 0) this.emit('error', error)
    })
  }

  /**
   * Watches one more directory.
   * @throws {InotifyError} ENOENT, ENOTDIR, EACCES; ENOSPC or EMFILE where the backend was asked for, not chosen
   */
  async add(path: string): Promise<void> {
    await this.ready
    await this.#serially(() => this.#addRoot(path))
  }

  /** Ends the watching of a root. Does nothing if it is none. */
  async remove(path: string): Promise<void> {
    await this.#serially(async () => {
      const root = this.#roots.get(resolve(path))
      if (root === undefined) return
      this.#roots.delete(root.path)
      this.#inotify?.detach(root)
    })
  }

  /** Every change made before this call has been reported when it resolves. */
  async sync(): Promise<void> {
    await this.ready
    await this.#inotify?.barrier()
    await this.#serially(async () => {
      // Behind the barrier nothing can come any more for a departure.
      this.#report(this.#translator.flush())
      for (const root of this.#roots.values()) if (root.polled || !root.present) await this.#poll(root)
    })
  }

  /** Per root: its source, and why. */
  coverage(): Coverage[] {
    return [...this.#roots.values()].map(({ path, backend, why, present, uncovered }) => ({
      path,
      backend,
      why,
      directories: present ? 1 : 0,
      uncovered: [...uncovered],
    }))
  }

  /** Ends all watching. Idempotent. No change is reported after the call. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Changes as they are reported, until close(). A slow consumer holds reading back, in the end to an 'overflow' and a rescan. */
  [Symbol.asyncIterator](): AsyncIterableIterator<Change[]> {
    const iterator: BatchIterator<Change[]> = new BatchIterator(
      () => this.#onRoom?.(),
      () => {
        this.#iterators.delete(iterator)
        this.#onRoom?.()
      },
    )
    if (this.#closing === undefined) this.#iterators.add(iterator)
    else iterator.end()
    return iterator
  }

  async #start(paths: string[]): Promise<void> {
    const { signal } = this.#settings
    if (signal?.aborted) await this.close()
    signal?.addEventListener('abort', this.#abort, { once: true })
    try {
      await this.#serially(async () => {
        for (const path of paths) await this.#addRoot(path)
      })
    } catch (error) {
      await this.close()
      throw error
    }
    if (this.#closing === undefined) this.emit('ready')
  }

  async #addRoot(path: string): Promise<void> {
    const absolute = resolve(path)
    if (this.#closing !== undefined || this.#roots.has(absolute)) return
    const root = new Root(absolute, this.#choose(absolute), this.#settings.ignores)
    trace('%s: %s, because %s', root.path, root.backend, root.why)
    root.entries = await this.#attach(root)
    root.present = true
    this.#roots.set(absolute, root)
    if (this.#settings.initial)
      this.#report(difference(new Map(), root.entries, (name) => root.pathOf(name), 'rescan'))
    this.#schedulePoll()
  }

  #choose(path: string): { backend: Backend; why: string } {
    const { backend } = this.#settings
    const chosen = chooseBackend(mountOf(path))
    if (backend === 'auto') return chosen
    return { backend, why: `asked for, where ${chosen.backend} would have been chosen (${chosen.why})` }
  }

  async #attach(root: Root): Promise<Entries> {
    try {
      return await root.attach((path) => {
        if (root.backend !== 'poll') this.#source().attach(root, path)
      })
    } catch (error) {
      if (this.#settings.backend !== 'auto' || !isLimit(error)) throw asWatchError(error, root.path)
      // No watch or no instance left: the root is polled, and the limit said.
      root.backend = 'poll'
      root.why = `polled for want of a watch (${error.code})`
      root.uncovered.push({ path: root.path, error })
      this.emit('error', error)
      return root.attach(() => {})
    }
  }

  #source(): InotifySource {
    this.#inotify ??= new InotifySource(this.#settings.persistent, {
      events: (events) => this.#serially(() => this.#onEvents(events)),
      overflow: () => this.#serially(() => this.#onOverflow()),
      gone: (root) => this.#serially(async () => this.#lose(root, 'inotify')),
      failed: (error) => this.emit('error', error),
    })
    return this.#inotify
  }

  async #onEvents(events: NameEvent[]): Promise<void> {
    const touched = new Map<Root, Map<string, Buffer>>()
    for (const { root, name, nameBytes } of events) {
      const names = touched.get(root)
      if (names === undefined) touched.set(root, new Map([[name, nameBytes]]))
      else names.set(name, nameBytes)
    }
    const found = new Map<unknown, Entries>()
    for (const [root, names] of touched) {
      // A root that cannot be looked at any more has an event of its own to come, or the next poll says so.
      found.set(root, await root.look(names.values()).catch((): Entries => new Map<string, Entry>()))
    }
    const directoryEvents = events.map(({ root, ...event }) => ({ ...event, directory: root }))
    this.#report(this.#translator.translate(directoryEvents, (root, name) => found.get(root)?.get(name)))

    clearTimeout(this.#pairingTimer)
    if (!this.#translator.pending) return
    const flush = () => void this.#serially(async () => this.#report(this.#translator.flush()))
    this.#pairingTimer = setTimeout(flush, PAIRING_MS)
  }

  async #onOverflow(): Promise<void> {
    this.#report(this.#translator.flush())
    for (const root of this.#roots.values()) {
      if (root.wd === undefined) continue
      this.#report([aboutRoot('overflow', root, 'inotify')])
      await this.#compare(root, 'rescan')
      if (root.present) this.#report([aboutRoot('recovered', root, 'rescan')])
    }
  }

  async #poll(root: Root): Promise<void> {
    if (root.present) await this.#compare(root, 'poll')
    else await this.#restore(root)
  }

  /** Lists a root and reports what differs from what is believed. */
  async #compare(root: Root, source: Source): Promise<void> {
    try {
      const entries = await root.list()
      if (entries !== undefined) {
        this.#adopt(root, entries, source)
        return
      }
      this.#lose(root, source)
      await this.#restore(root)
    } catch (error) {
      trace('%s: %s', root.path, error)
      this.#lose(root, source)
    }
  }

  #adopt(root: Root, entries: Entries, source: Source): void {
    const changes = difference(root.entries, entries, (name) => root.pathOf(name), source)
    root.entries = entries
    this.#report(changes)
  }

  #lose(root: Root, source: Source): void {
    if (!root.present) return
    root.present = false
    this.#inotify?.detach(root)
    this.#report([...this.#translator.flush(), aboutRoot('lost', root, source)])
    this.#schedulePoll()
  }

  async #restore(root: Root): Promise<void> {
    let entries: Entries
    try {
      entries = await this.#attach(root)
    } catch (error) {
      trace('%s is still lost: %s', root.path, error)
      return
    }
    root.present = true
    this.#report([aboutRoot('restored', root, 'rescan')])
    this.#adopt(root, entries, 'rescan')
  }

  // No timer runs while every root is watched by inotify alone: nothing wakes up when nothing happens.
  #schedulePoll(): void {
    const needed = [...this.#roots.values()].some((root) => root.polled || !root.present)
    if (!needed || this.#pollTimer !== undefined || this.#closing !== undefined) return
    this.#pollTimer = setTimeout(async () => {
      await this.#serially(async () => {
        for (const root of this.#roots.values()) if (root.polled || !root.present) await this.#poll(root)
      })
      this.#pollTimer = undefined
      this.#schedulePoll()
    }, this.#settings.interval)
    if (!this.#settings.persistent) this.#pollTimer.unref()
  }

  #serially(task: () => Promise<void>): Promise<void> {
    const done = this.#work.then(async () => {
      if (this.#closing !== undefined) return
      await task()
      await this.#room()
    })
    this.#work = done.catch(() => {})
    return done
  }

  #room(): Promise<void> {
    const full = () => this.#closing === undefined && [...this.#iterators].some((iterator) => iterator.full)
    if (!full()) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onRoom = () => {
        if (!full()) resolve()
      }
    })
  }

  #report(changes: Change[]): void {
    if (changes.length === 0) return
    for (const iterator of this.#iterators) iterator.push(changes)
    // A listener that throws is an uncaught exception, not a failure of the work that this is part of.
    queueMicrotask(() => {
      if (this.#closing === undefined) this.emit('changes', changes)
    })
  }

  async #close(): Promise<void> {
    clearTimeout(this.#pollTimer)
    clearTimeout(this.#pairingTimer)
    this.#settings.signal?.removeEventListener('abort', this.#abort)
    for (const iterator of this.#iterators) iterator.end()
    this.#iterators.clear()
    this.#onRoom?.()
    await this.#inotify?.close()
    await this.#work
    this.emit('close')
  }
}

/**
 * Watches one or more directories. Each root's source is chosen by its mount.
 *
 * Await {@link Watcher.ready}, or listen to 'ready': changes made from then on are reported. Paths must be existing directories:
 * otherwise ready rejects with an {@link InotifyError} (ENOENT, ENOTDIR, EACCES).
 *
 * @example
 * await using watcher = watch('/etc/app')
 * for await (const changes of watcher) for (const { type, path } of changes) console.log(type, path)
 */
export function watch(paths: string | string[], options: WatchOptions = {}): Watcher {
  return new Watcher(paths, options)
}

function aboutRoot(type: RootChange['type'], root: Root, source: Source): RootChange {
  return { type, path: root.path, source }
}

function isLimit(error: unknown): error is InotifyError {
  return error instanceof InotifyError && (error.code === 'ENOSPC' || error.code === 'EMFILE')
}

const HINTS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such directory; watch the one that it will appear in',
  ENOTDIR: 'watch() takes directories; watch the one that holds this file',
  EACCES: 'read and search permission are needed to list and watch a directory',
}

function asWatchError(error: unknown, path: string): unknown {
  if (error instanceof InotifyError || !(error instanceof Error) || !('errno' in error)) return error
  const { errno } = error
  if (typeof errno !== 'number') return error
  const code = 'code' in error ? String(error.code) : ''
  return new InotifyError({ errno: -errno, syscall: 'watch', path, hint: HINTS[code] ?? '' })
}
