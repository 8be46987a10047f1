import type { StatKey } from '../../mounts/syscalls/stat_watch.ts'
import { sameKey } from '../plan/tree.ts'
import { Torn } from '../source/errors.ts'

/**
 * ms between two reads that are to show whether a file is still being written, at least. A kernel's clock for ctimes ticks every 1 to 10 ms: of two writes within a tick
 * the second may change nothing but the content.
 */
export const TWO_TICKS = 10

/** The time for which a flat file must hold still (ms), and what ends the wait for it: it is no promise to anybody then. */
export interface Stillness {
  readonly quiet: number
  readonly signal: AbortSignal
}

/** Since when (performance.now()) which version of a flat file has been empty that was not before. */
export type Emptied = ReadonlyMap<string, { readonly key: StatKey; readonly since: number }>

/**
 * A file that has become empty must hold still for so many times `quiet`. A writer that rewrites a file in place truncates it first, and ext4 was seen
 * to hold the writer up for 0.2 s, on a busy disk for 3 s, between that and the first byte.
 */
const EMPTY_PATIENCE = 50

/** The flat files of a source that have become empty and may still be about to be written. */
export class EmptiedFiles {
  /** For the next pass. */
  readonly found = new Map<string, { readonly key: StatKey; readonly since: number }>()
  readonly #before: Emptied
  readonly #quiet: number

  constructor(before: Emptied, quiet: number) {
    this.#before = before
    this.#quiet = quiet
  }

  /** Throws {@link Torn} while one may still be about to be written. */
  expectMore(path: string, key: StatKey): void {
    const before = this.#before.get(path)
    const since = before !== undefined && sameKey(before.key, key) ? before.since : performance.now()
    this.found.set(path, { key, since })
    if (performance.now() - since < this.#quiet * EMPTY_PATIENCE) throw new Torn('it has been emptied')
  }
}
