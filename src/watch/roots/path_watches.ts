import type { EventBatch } from '../../inotify/batch.ts'
import { IN_IGNORED } from '../../inotify/constants.ts'
import { keyAt } from '../../name_key.ts'
import { ABOUT_NAME, GONE } from '../events/watch_mask.ts'

/** A name in a watched directory that a path leads over: another entry may get the name, and the directory may itself be moved. */
export interface WatchedName {
  wd: number
  /** A key: see name_key.ts. {@link ITSELF} stands for the owner's own watch, at the end of its path. */
  name: string
}

/** The name of events about the watched object itself: no entry of a directory has it. */
export const ITSELF = ''

/** The events of what an owner watches. */
export interface Hint {
  /** All their masks. */
  all: number
  /** The masks of the owner's own watch. */
  own: number
}

/** Hints by their owners, of whatever class. */
export type Hints = ReadonlyMap<object, Hint>

// After these events of a name, or of a directory on the way, the path may lead elsewhere.
const MASK = ABOUT_NAME | GONE

const NO_HINTS: Hints = new Map()

/**
 * Indexes all watches that serve something else than a directory of the tree: by wd, then by name, the owners. Their events are hints to look again at what a
 * path leads to, or at a file. One lookup finds the owners that an event concerns; thousands of roots in the same directory cost nothing.
 */
export class PathWatches {
  readonly #names = new Map<number, Owners<string>>()
  // A map of its own: each of a hundred thousand owners may have such a watch.
  readonly #own = new Owners<number>()

  has(wd: number): boolean {
    return this.#names.has(wd) || this.#own.has(wd)
  }

  /** Replaces the watches of an owner. Returns the watches that nobody has any more. */
  replace(owner: object, before: readonly WatchedName[], after: readonly WatchedName[]): number[] {
    for (const each of after) this.#join(owner, each)
    const left: number[] = []
    for (const each of before) {
      const isKept = after.some(({ wd, name }) => wd === each.wd && name === each.name)
      if (!isKept && this.#leave(owner, each) && !this.has(each.wd)) left.push(each.wd)
    }
    return left
  }

  /** Returns the hints of a part of a batch. Events of a directory itself concern every owner whose path leads through the directory. */
  collect(batch: EventBatch, start: number, end: number): Hints {
    // Usually there are no owners, and a batch costs nothing.
    if (this.#names.size === 0 && this.#own.isEmpty) return NO_HINTS
    const hints = new Map<object, Hint>()
    for (let i = start; i < end; i++) {
      const wd = batch.wd(i)
      const names = this.#names.get(wd)
      if (names === undefined && !this.#own.has(wd)) continue
      const told = batch.mask(i)
      const name = keyAt(batch, i)
      if (name === ITSELF) for (const owner of this.#own.of(wd)) addHint(hints, owner, told, told)
      if (names !== undefined && told & MASK)
        for (const owner of name === ITSELF ? names.all() : names.of(name)) addHint(hints, owner, told, 0)
      // The kernel has removed this watch.
      if (told & IN_IGNORED) {
        this.#names.delete(wd)
        this.#own.drop(wd)
      }
    }
    return hints
  }

  #join(owner: object, { wd, name }: WatchedName): void {
    if (name === ITSELF) this.#own.join(owner, wd)
    else {
      const names = this.#names.get(wd) ?? new Owners()
      this.#names.set(wd, names)
      names.join(owner, name)
    }
  }

  /** Leaves a watch. Returns false if it was not there. */
  #leave(owner: object, { wd, name }: WatchedName): boolean {
    if (name === ITSELF) return this.#own.leave(owner, wd)
    const names = this.#names.get(wd)
    const wasThere = names?.leave(owner, name) === true
    if (names?.isEmpty) this.#names.delete(wd)
    return wasThere
  }
}

/** The owners of names or watches: usually one of each. */
class Owners<Key> {
  readonly #owners = new Map<Key, object | Set<object>>()

  get isEmpty(): boolean {
    return this.#owners.size === 0
  }

  has(key: Key): boolean {
    return this.#owners.has(key)
  }

  of(key: Key): Iterable<object> {
    const owners = this.#owners.get(key)
    if (owners === undefined) return NOBODY
    return owners instanceof Set ? owners : [owners]
  }

  *all(): Generator<object> {
    for (const key of this.#owners.keys()) yield* this.of(key)
  }

  join(owner: object, key: Key): void {
    const owners = this.#owners.get(key)
    if (owners instanceof Set) owners.add(owner)
    else if (owners === undefined) this.#owners.set(key, owner)
    else if (owners !== owner) this.#owners.set(key, new Set([owners, owner]))
  }

  leave(owner: object, key: Key): boolean {
    const owners = this.#owners.get(key)
    const wasThere = owners instanceof Set ? owners.delete(owner) : owners === owner
    if (wasThere && (!(owners instanceof Set) || owners.size === 0)) this.#owners.delete(key)
    return wasThere
  }

  drop(key: Key): void {
    this.#owners.delete(key)
  }
}

const NOBODY: readonly never[] = []

/** Adds an event to the hint of an owner. */
export function addHint<Owner extends object>(
  hints: Map<Owner, Hint>,
  owner: Owner,
  told: number,
  own: number,
): void {
  const hint = hints.get(owner)
  hints.set(owner, { all: (hint?.all ?? 0) | told, own: (hint?.own ?? 0) | own })
}
