import type { EventBatch } from '../../inotify/batch.ts'
import { IN_IGNORED } from '../../inotify/constants.ts'

/** What events have told of the watches that somebody has. */
export interface Hint {
  /** All their masks. */
  all: number
  /** Those of the one watch that {@link PathWatches.set} was given as the owner's own. */
  own: number
}

/** Watches whose events say no more than that somebody should look again. Several may have the same. */
export class PathWatches<Owner> {
  readonly #owners = new Map<number, Set<Owner>>()
  readonly #wds = new Map<Owner, { ways: Set<number>; own: number }>()

  has(wd: number): boolean {
    return this.#owners.has(wd)
  }

  /** Gives an owner its watches, in place of those that it had. The answer: watches that nobody has any more. */
  set(owner: Owner, ways: Iterable<number>, own = 0): number[] {
    const before = this.#wds.get(owner)
    const after = { ways: new Set(ways), own }
    const all = new Set([...after.ways, ...(own > 0 ? [own] : [])])
    if (all.size === 0) this.#wds.delete(owner)
    else this.#wds.set(owner, after)
    for (const wd of all) {
      const owners = this.#owners.get(wd)
      if (owners === undefined) this.#owners.set(wd, new Set([owner]))
      else owners.add(owner)
    }
    const left: number[] = []
    for (const wd of before === undefined ? [] : [...before.ways, before.own]) {
      if (!all.has(wd) && this.#leave(owner, wd)) left.push(wd)
    }
    return left
  }

  /** What a part of a batch has for each owner. `mask`: the events that count, but for an owner's own watch, where all do. */
  collect(batch: EventBatch, start: number, end: number, mask: number): Map<Owner, Hint> {
    const hints = new Map<Owner, Hint>()
    for (let i = start; i < end && this.#owners.size > 0; i++) {
      const wd = batch.wd(i)
      for (const owner of this.#owners.get(wd) ?? []) {
        const own = this.#wds.get(owner)?.own === wd ? batch.mask(i) : 0
        if (batch.mask(i) & IN_IGNORED) this.#leave(owner, wd)
        if (own === 0 && !(batch.mask(i) & mask)) continue
        const hint = hints.get(owner)
        hints.set(owner, { all: (hint?.all ?? 0) | batch.mask(i), own: (hint?.own ?? 0) | own })
      }
    }
    return hints
  }

  /** Whether it was the last owner. */
  #leave(owner: Owner, wd: number): boolean {
    const owners = this.#owners.get(wd)
    owners?.delete(owner)
    if (owners === undefined || owners.size > 0) return false
    this.#owners.delete(wd)
    return true
  }
}
