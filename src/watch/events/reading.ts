import type { Entry } from '../scan/entry.ts'
import type { BatchView } from './batch_view.ts'
import { findExchange, type WayBack } from './exchange.ts'

/** In place of the number of an event that was read earlier. */
export const READ_EARLIER = -1

/**
 * The events that are being translated, and what was at their names when they had been read. That is seen later than an event was made,
 * and can be another file by then: so it is taken for what the event was about only if no later event of the name is known.
 */
export class Reading {
  // undefined: what is told was read earlier.
  #index: BatchView | undefined
  // The numbers of those that have been told before their turn.
  readonly #done = new Set<number>()

  begin(index: BatchView): void {
    this.#index = index
    this.#done.clear()
  }

  end(): void {
    this.#index = undefined
  }

  /** It is told before its turn. */
  done(i: number): void {
    this.#done.add(i)
  }

  isDone(i: number): boolean {
    return this.#done.has(i)
  }

  /** The second half of a rename, where it is still to be told. */
  arrival(cookie: number): { i: number; wd: number; mask: number; name: string } | undefined {
    const index = this.#index
    const i = index?.arrival(cookie)
    if (index === undefined || i === undefined || this.#done.has(i)) return undefined
    return { i, wd: index.batch.wd(i), mask: index.batch.mask(i), name: index.name(i) }
  }

  /** What the event was about. null: nothing is there; undefined: nobody knows. */
  seen(i: number): Entry | null | undefined {
    const index = this.#index
    if (index === undefined || i === READ_EARLIER) return undefined
    const seen = index.seen(i)
    return seen === undefined || index.isLatest(i) ? seen : undefined
  }

  /** See {@link findExchange}. */
  wayBack(i: number, came: Entry, displaced: Entry): WayBack | undefined {
    const index = this.#index
    if (index === undefined || i === READ_EARLIER) return undefined
    return findExchange(index, i, came, displaced)
  }
}
