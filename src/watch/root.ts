import { join } from 'node:path'
import type { Backend } from '../mounts/filesystems.ts'
import { HeldDirectory } from '../mounts/held.ts'
import type { Kind } from './change.ts'
import { type Entries, type Entry, entryOf } from './entries.ts'
import type { Directory } from './translate.ts'

/** A watched directory: what is believed of it, and where its changes come from. */
export class Root implements Directory {
  /** Absolute. */
  readonly path: string
  readonly #ignores: (path: string, kind: Kind) => boolean
  backend: Backend
  why: string
  entries: Entries = new Map()
  /** The inotify watch; undefined while there is none. */
  wd: number | undefined
  /** False from 'lost' to 'restored'. */
  present = false
  uncovered: Array<{ path: string; error: Error }> = []
  #identity = ''

  constructor(
    path: string,
    choice: { backend: Backend; why: string },
    ignores: (path: string, kind: Kind) => boolean,
  ) {
    this.path = path
    this.backend = choice.backend
    this.why = choice.why
    this.#ignores = ignores
  }

  get polled(): boolean {
    return this.backend !== 'inotify'
  }

  pathOf(name: string): string {
    return join(this.path, name)
  }

  ignores(name: string, kind: Kind): boolean {
    return this.#ignores(this.pathOf(name), kind)
  }

  /**
   * Opens the directory at the root's path, gives a path of it to `attach` (which adds the watch: before the listing, so that nothing falls
   * between the two), and lists it. Fails as open(2) and readdir(3) do.
   */
  async attach(attach: (path: string) => void): Promise<Entries> {
    await using held = await HeldDirectory.open(this.path)
    this.#identity = await identityOf(held)
    attach(held.path)
    return await this.#list(held)
  }

  /** The entries now; undefined when the path has become another directory. Fails as open(2) and readdir(3) do. */
  async list(): Promise<Entries | undefined> {
    await using held = await HeldDirectory.open(this.path)
    return (await identityOf(held)) === this.#identity ? await this.#list(held) : undefined
  }

  /** What is at these names now. Names that are not there are not in the answer. */
  async look(names: Iterable<string | Buffer>): Promise<Entries> {
    const found: Entries = new Map()
    await using held = await HeldDirectory.open(this.path)
    if ((await identityOf(held)) !== this.#identity) return found
    for (const name of names) {
      const entry = await entryAt(held, name)
      if (entry !== undefined) found.set(name.toString(), entry)
    }
    return found
  }

  // One call at a time: a mount that has stopped answering holds one thread of libuv's pool, and not all four.
  async #list(held: HeldDirectory): Promise<Entries> {
    const entries: Entries = new Map()
    for (const bytes of await held.names()) {
      const entry = await entryAt(held, bytes)
      const name = bytes.toString()
      if (entry !== undefined && !this.ignores(name, entry.kind)) entries.set(name, entry)
    }
    return entries
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
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
