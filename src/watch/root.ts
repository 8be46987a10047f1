import { join } from 'node:path'
import type { Backend } from '../mounts/filesystems.ts'
import { HeldDirectory } from '../mounts/held.ts'
import type { Kind } from './change.ts'
import { type Entries, type Entry, entryOf, sameFile } from './entries.ts'
import { keyOf, nameOf, textOf } from './names.ts'
import type { Directory } from './translate.ts'
import { codeOf } from './watch_error.ts'

/** Where a root's changes come from, why, and what could not be watched as chosen. */
export interface RootSource {
  backend: Backend
  why: string
  uncovered: Array<{ path: string; error: Error }>
}

/** A watched directory: what is believed of it, and where its changes come from. Names are keys, as {@link keyOf} makes them. */
export class Root implements Directory {
  /** Absolute. */
  readonly path: string
  readonly #ignores: (path: string, kind: Kind) => boolean
  source: RootSource = { backend: 'poll', why: '', uncovered: [] }
  entries: Entries = new Map()
  /** The inotify watch; undefined while there is none. */
  wd: number | undefined
  /** False from 'lost' to 'restored', before the first listing, and after the root was removed. */
  present = false
  /** From 'overflow' to 'recovered'. */
  isOverflown = false
  /**
   * Names of which something else was seen than their events say. As a rule more events are on the way; where none come, they are
   * looked at again. Each value is of its own: a doubt that was renewed is another.
   */
  readonly doubts = new Map<string, object>()
  readonly listed = new Set<string>()
  /** While a poll lists the directory: names that events told of meanwhile, so that what is listed of them may be out of date. */
  touched: Set<string> | undefined
  #identity = ''

  constructor(path: string, ignores: (path: string, kind: Kind) => boolean) {
    this.path = path
    this.#ignores = ignores
  }

  get polled(): boolean {
    return this.source.backend !== 'inotify'
  }

  /** Whether an event that is still on the way could mean something other than what is believed. */
  get isUnsettled(): boolean {
    return this.doubts.size > 0 || this.listed.size > 0
  }

  pathOf(name: string): string {
    return join(this.path, textOf(name))
  }

  ignores(name: string, kind: Kind): boolean {
    return this.#ignores(this.pathOf(name), kind)
  }

  /**
   * Opens the directory at the root's path, gives a path of it to `watch` (which adds the watch: before the listing, so that nothing
   * falls between the two), and lists it. Fails as open(2) and readdir(3) do.
   */
  async attach(watch: (path: string) => void): Promise<Entries> {
    await using held = await HeldDirectory.open(this.path)
    this.#identity = await identityOf(held)
    return await this.#listWatched(held, watch)
  }

  /** As {@link attach}, but undefined when the path is no longer this directory. */
  reattach(watch: (path: string) => void): Promise<Entries | undefined> {
    return this.#withSame((held) => this.#listWatched(held, watch))
  }

  /** The entries now; undefined when the path is no longer this directory. Fails as open(2) and readdir(3) do. */
  list(): Promise<Entries | undefined> {
    return this.#withSame((held) => this.#list(held))
  }

  /** What is at these names now: those not in the answer are not there. undefined when the path is no longer this directory. */
  async look(names: Iterable<string>): Promise<Entries | undefined> {
    return this.#withSame(async (held) => {
      const found: Entries = new Map()
      for (const name of names) {
        const entry = await entryAt(held, nameOf(name))
        if (entry !== undefined) found.set(name, entry)
      }
      return found
    })
  }

  /** Whether the path is still this directory. */
  async holds(): Promise<boolean> {
    return (await this.#withSame(async () => true)) ?? false
  }

  /** Takes a name into {@link doubts}, or out of them, by what was seen after its events were told. */
  weigh(name: string, seen: Entry | undefined): void {
    const believed = this.entries.get(name)
    const shown = seen !== undefined && this.ignores(name, seen.kind) ? undefined : seen
    const agreed = believed && shown ? sameFile(believed, shown) : believed === shown
    if (agreed) this.doubts.delete(name)
    else this.doubts.set(name, {})
  }

  /** Without what is ignored. */
  visible(entries: Entries): Entries {
    return new Map([...entries].filter(([name, { kind }]) => !this.ignores(name, kind)))
  }

  /** What is believed stays, to compare with when the root is restored; what is under way means nothing any more. */
  forget(): void {
    this.present = false
    this.isOverflown = false
    this.doubts.clear()
    this.listed.clear()
    this.touched = undefined
  }

  async #withSame<T>(use: (held: HeldDirectory) => Promise<T>): Promise<T | undefined> {
    let held: HeldDirectory
    try {
      held = await HeldDirectory.open(this.path)
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
      throw error
    }
    try {
      return (await identityOf(held)) === this.#identity ? await use(held) : undefined
    } finally {
      await held.close()
    }
  }

  async #listWatched(held: HeldDirectory, watch: (path: string) => void): Promise<Entries> {
    watch(held.path)
    const entries = await this.#list(held)
    this.listed.clear()
    if (this.wd !== undefined) for (const name of entries.keys()) this.listed.add(name)
    return entries
  }

  /** A name that goes while it is looked at may have come up elsewhere since: then all is listed anew, a few times. */
  async #list(held: HeldDirectory, attempts = 3): Promise<Entries> {
    const entries: Entries = new Map()
    let moving = false
    // One call at a time: a mount that has stopped answering holds one thread of libuv's pool, and not all four.
    for (const bytes of await held.names()) {
      const entry = await entryAt(held, bytes)
      const name = keyOf(bytes)
      if (entry === undefined) moving = true
      else if (!this.ignores(name, entry.kind)) entries.set(name, entry)
    }
    return moving && attempts > 1 ? await this.#list(held, attempts - 1) : entries
  }
}

async function identityOf(held: HeldDirectory): Promise<string> {
  const { dev, ino } = await held.stat()
  return `${dev}:${ino}`
}

async function entryAt(held: HeldDirectory, name: string | Buffer): Promise<Entry | undefined> {
  try {
    return entryOf(await held.lstat(name))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
