import type { EventBatch } from '../../inotify/batch.ts'
import { IN_IGNORED } from '../../inotify/constants.ts'
import { keyAt } from '../../name_key.ts'

/** A name in a watched directory that a path leads over: another may come to have it, and the directory may itself be moved. */
export interface WatchedName {
  wd: number
  /** A key: see name_key.ts. */
  name: string
}

/** What events have told of what somebody watches. */
export interface Hint {
  /** All their masks. */
  all: number
  /** Those of the one watch that {@link PathWatches.set} was given as the owner's own. */
  own: number
}

/** No entry of a directory has this name: events that have none are about what is watched itself. */
export const ITSELF = ''

/** Who is concerned by events of names in watched directories: as a rule one owner of each name, and a thousand names in a directory. */
export class NameOwners<Owner> {
  readonly #owners = new Map<number, Map<string, Owner | Set<Owner>>>()

  get isEmpty(): boolean {
    return this.#owners.size === 0
  }

  has(wd: number): boolean {
    return this.#owners.has(wd)
  }

  /** The names in a directory that somebody has. */
  namesIn(wd: number): Iterable<string> {
    return this.#owners.get(wd)?.keys() ?? NOBODY
  }

  of(wd: number, name: string): Iterable<Owner> {
    const owners = this.#owners.get(wd)?.get(name)
    if (owners === undefined) return NOBODY
    return owners instanceof Set ? owners : [owners]
  }

  join(owner: Owner, { wd, name }: WatchedName): void {
    let names = this.#owners.get(wd)
    if (names === undefined) {
      names = new Map()
      this.#owners.set(wd, names)
    }
    const owners = names.get(name)
    if (owners instanceof Set) owners.add(owner)
    else if (owners === undefined) names.set(name, owner)
    else if (owners !== owner) names.set(name, new Set([owners, owner]))
  }

  /** Whether the watch was needed for nothing else. */
  leave(owner: Owner, { wd, name }: WatchedName): boolean {
    const names = this.#owners.get(wd)
    const owners = names?.get(name)
    if (names === undefined || owners === undefined) return false
    if (!(owners instanceof Set ? owners.delete(owner) : owners === owner)) return false
    if (!(owners instanceof Set) || owners.size === 0) names.delete(name)
    if (names.size > 0) return false
    this.#owners.delete(wd)
    return true
  }

  /** The kernel has removed the watch. */
  drop(wd: number): void {
    this.#owners.delete(wd)
  }
}

const NOBODY: readonly never[] = []

/**
 * Watches whose events say no more than that somebody should look again at what a path leads to. Several owners may have the same. It knows
 * who is concerned by an event, at the cost of those alone: a directory's neighbours may be thousands of roots.
 */
export class PathWatches<Owner> {
  readonly #owners = new NameOwners<Owner>()
  readonly #watched = new Map<Owner, readonly WatchedName[]>()
  // As a rule nobody has any: then a batch costs nothing.
  readonly #none: ReadonlyMap<Owner, Hint> = new Map()

  has(wd: number): boolean {
    return this.#owners.has(wd)
  }

  /** Whether this is an owner's own watch: see {@link set}. */
  isOwn(owner: Owner, wd: number): boolean {
    const watched = this.#watched.get(owner) ?? []
    return watched.some((each) => each.wd === wd && each.name === ITSELF)
  }

  /**
   * Gives an owner what it watches, in place of what it had. The answer: watches that nobody has any more.
   *
   * @param own the watch of what is at the end of the path; 0: none
   */
  set(owner: Owner, ways: Iterable<WatchedName>, own = 0): number[] {
    const before = this.#watched.get(owner) ?? []
    const after = [...ways, ...(own > 0 ? [{ wd: own, name: ITSELF }] : [])]
    if (after.length === 0) this.#watched.delete(owner)
    else this.#watched.set(owner, after)
    for (const each of after) this.#owners.join(owner, each)
    const left: number[] = []
    for (const watched of before) {
      const { wd, name } = watched
      if (after.some((each) => each.wd === wd && each.name === name)) continue
      if (this.#owners.leave(owner, watched)) left.push(wd)
    }
    return left
  }

  /**
   * What a part of a batch has for each owner that it concerns. `mask`: the events that count, but for an owner's own watch, where all do. Those of
   * a directory itself concern all whose path leads through it.
   */
  collect(batch: EventBatch, start: number, end: number, mask: number): ReadonlyMap<Owner, Hint> {
    if (this.#owners.isEmpty) return this.#none
    const hints = new Map<Owner, Hint>()
    for (let i = start; i < end && !this.#owners.isEmpty; i++) {
      const wd = batch.wd(i)
      if (!this.#owners.has(wd)) continue
      const told = batch.mask(i)
      const name = keyAt(batch, i)
      for (const of of name === ITSELF ? this.#owners.namesIn(wd) : [name]) {
        const own = of === ITSELF ? told : 0
        if (own === 0 && !(told & mask)) continue
        for (const owner of this.#owners.of(wd, of)) addHint(hints, owner, told, own)
      }
      if (told & IN_IGNORED) this.#owners.drop(wd)
    }
    return hints
  }
}

/** One event more that concerns somebody. */
export function addHint<Owner>(hints: Map<Owner, Hint>, owner: Owner, told: number, own: number): void {
  const hint = hints.get(owner)
  hints.set(owner, { all: (hint?.all ?? 0) | told, own: (hint?.own ?? 0) | own })
}
