import type { Entry } from '../scan/entry.ts'
import type { BatchView } from './batch_view.ts'
import { findExchange, type WayBack } from './exchange.ts'

/** Stands for the number of an event that was read earlier. */
export const READ_EARLIER = -1

/**
 * The events that are being translated, and what was seen at their names after the read. Another file can be there by then: so a look is taken
 * for the entry that an event was about only if no later event of the name is known.
 */
export class Reading {
  // undefined: the events being translated were read earlier.
  #index: BatchView | undefined
  // The numbers of the events that were translated before their turn.
  readonly #done = new Set<number>()

  begin(index: BatchView): void {
    this.#index = index
    this.#done.clear()
  }

  end(): void {
    this.#index = undefined
  }

  /** Notes that an event is translated before its turn. */
  done(i: number): void {
    this.#done.add(i)
  }

  isDone(i: number): boolean {
    return this.#done.has(i)
  }

  /** Returns the second half of a rename, if it is still to be translated. */
  arrival(cookie: number): { i: number; wd: number; mask: number; name: string } | undefined {
    const index = this.#index
    const i = index?.arrival(cookie)
    if (index === undefined || i === undefined || this.#done.has(i)) return undefined
    return { i, wd: index.batch.wd(i), mask: index.batch.mask(i), name: index.name(i) }
  }

  /** Returns the entry that an event was about. null: nothing is there; undefined: not known. */
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
