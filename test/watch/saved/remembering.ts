import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { Change } from '../../../src/index.ts'
import { watch } from '../../../src/watch/calls.ts'
import { CLOCK_SLACK_MS } from '../../../src/watch/clock.ts'
import type { WatchOptions } from '../../../src/watch/options.ts'
import type { Watcher } from '../../../src/watch/watcher.ts'

/** The properties of an entry that changes can tell. */
export interface Seen {
  kind: string
  /** The content of a file, or the target of a link. */
  content: string
  mode: number
}

/** Returns all entries below a directory, by path. */
export function seenBelow(directory: string): Map<string, Seen> {
  const all = new Map<string, Seen>()
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const stats = lstatSync(path)
    const mode = stats.mode & 0o7777
    if (stats.isDirectory()) all.set(path, { kind: 'directory', content: '', mode })
    else if (stats.isSymbolicLink()) all.set(path, { kind: 'symlink', content: readlinkSync(path), mode })
    else if (stats.isFile()) all.set(path, { kind: 'file', content: readFileSync(path, 'latin1'), mode })
    else all.set(path, { kind: 'other', content: '', mode })
  }
  return all
}

/** Resolves when the last change below these paths is so old that no entry is in doubt. */
export async function settled(...directories: string[]): Promise<void> {
  const changed = () =>
    directories.flatMap((each) => [
      lstatSync(each).ctimeMs,
      ...readdirSync(each, { recursive: true, withFileTypes: true }).map(
        ({ parentPath, name }) => lstatSync(join(parentPath, name)).ctimeMs,
      ),
    ])
  await expect
    .poll(() => Date.now() - Math.max(...changed()), { interval: 5 })
    .toBeGreaterThan(2 * CLOCK_SLACK_MS)
}

/** Resolves when the last change of a directory is so old. */
export async function settledAt(directory: string): Promise<void> {
  await expect
    .poll(() => Date.now() - lstatSync(directory).ctimeMs, { interval: 5 })
    .toBeGreaterThan(2 * CLOCK_SLACK_MS)
}

/** Watches for as long as writing a snapshot takes. */
export async function save(
  paths: string | string[],
  file: string,
  options: WatchOptions = {},
): Promise<void> {
  await using watcher = watch(paths, { recursive: true, ...options })
  await watcher.ready
  await watcher.save(file)
}

export interface Told {
  watcher: Watcher
  /** The changes up to `ready`, without those that the test takes out. */
  changes: Change[]
  errors: Array<Error & { code?: string }>
}

/** Returns a watcher that has told the differences from a snapshot. The watcher closes with the test. */
export async function since(
  paths: string | string[],
  file: string,
  options: WatchOptions = {},
): Promise<Told> {
  const watcher = watch(paths, { recursive: true, since: file, ...options })
  onTestFinished(() => watcher.close())
  const [changes, errors]: [Change[], Error[]] = [[], []]
  watcher.on('changes', (batch) => changes.push(...batch)).on('error', (error) => errors.push(error))
  await watcher.ready
  return { watcher, changes, errors }
}

/**
 * Entries that were taken out: the rest of the path, the entry, and if it was told as written and as altered.
 */
type Taken = Array<[rest: string, seen: Seen, isRead: boolean, isAltered: boolean]>

/** A consumer that knew the state before, and applies each change as it comes. */
export class Consumer {
  readonly names: Map<string, Seen>
  /** The paths that were told as new or as written. */
  readonly read = new Set<string>()
  /** The paths whose mode was told to have changed. */
  readonly altered = new Set<string>()

  readonly #isFlat: boolean

  /** @param isFlat knows no directories: each change is about one path, as with `expand` */
  constructor(before: ReadonlyMap<string, Seen>, isFlat = false) {
    this.names = new Map(before)
    this.#isFlat = isFlat
  }

  apply(changes: Iterable<Change>): void {
    for (const change of changes) this.#apply(change)
  }

  #apply(change: Change): void {
    const { names, read, altered } = this
    const wrong = () => new Error(`does not fit: ${JSON.stringify(change)}`)
    if (!('mask' in change)) return
    const { path, kind } = change
    if (change.type === 'create') {
      if (names.has(path)) throw wrong()
      names.set(path, { kind, content: '', mode: 0 })
      read.add(path)
    } else if (change.type === 'delete') {
      if (!names.has(path)) throw wrong()
      this.#takeOut(path)
    } else if (change.type === 'rename') {
      if (names.has(path) !== change.replaced || !names.has(change.from)) throw wrong()
      this.#takeOut(path)
      this.#put(this.#takeOut(change.from), path)
      // The create of an entry that was gone before the look may have told the wrong kind.
      if (change.source === 'inotify') this.#become(path, kind)
    } else if (change.type === 'exchange') {
      if (!names.has(path) || !names.has(change.other)) throw wrong()
      const [one, other] = [this.#takeOut(path), this.#takeOut(change.other)]
      this.#put(one, change.other)
      this.#put(other, path)
    } else {
      if (!names.has(path)) throw wrong()
      if (change.type === 'modify') read.add(path)
      altered.add(path)
    }
  }

  #become(path: string, kind: string): void {
    const seen = this.names.get(path)
    if (seen !== undefined) this.names.set(path, { ...seen, kind })
  }

  /** Takes out an entry and all entries below, by the rest of their paths. */
  #takeOut(path: string): Taken {
    const taken: Taken = []
    for (const [each, seen] of this.names) {
      if (each !== path && (this.#isFlat || !each.startsWith(`${path}/`))) continue
      taken.push([each.slice(path.length), seen, this.read.delete(each), this.altered.delete(each)])
      this.names.delete(each)
    }
    return taken
  }

  #put(taken: Taken, path: string): void {
    for (const [rest, seen, isRead, isAltered] of taken) {
      this.names.set(path + rest, seen)
      if (isRead) this.read.add(path + rest)
      if (isAltered) this.altered.add(path + rest)
    }
  }

  /** Returns the differences from the file system. Entries that were told as written count as read again. */
  errors(now: ReadonlyMap<string, Seen>): string[] {
    const wrong = [...this.names.keys()].filter((path) => !now.has(path)).map((path) => `no ${path}`)
    for (const [path, { kind, content, mode }] of now) {
      const believed = this.names.get(path)
      if (believed?.kind !== kind) wrong.push(`${path} is a ${kind}, and not a ${believed?.kind}`)
      else if (this.read.has(path)) continue
      else if (believed.content !== content) wrong.push(`${path} was written`)
      else if (believed.mode !== mode && !this.altered.has(path)) wrong.push(`${path} has another mode`)
    }
    return wrong
  }
}
