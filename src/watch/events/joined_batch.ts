import type { EventBatch, InotifyEvent } from '../../inotify/batch.ts'

/** The events from `start` to `end` of a batch. */
export interface BatchSlice {
  readonly batch: EventBatch
  readonly start: number
  readonly end: number
}

/** The events of two reads, as if one read had given them. */
export class JoinedBatch implements EventBatch {
  readonly length: number
  readonly #first: BatchSlice
  readonly #second: BatchSlice
  // The number of events in the first.
  readonly #size: number

  constructor(first: BatchSlice, second: BatchSlice) {
    this.#first = first
    this.#second = second
    this.#size = first.end - first.start
    this.length = this.#size + second.end - second.start
  }

  wd(i: number): number {
    return this.#batchOf(i).wd(this.#indexOf(i))
  }

  mask(i: number): number {
    return this.#batchOf(i).mask(this.#indexOf(i))
  }

  cookie(i: number): number {
    return this.#batchOf(i).cookie(this.#indexOf(i))
  }

  name(i: number): string {
    return this.#batchOf(i).name(this.#indexOf(i))
  }

  nameBytes(i: number): Buffer {
    return this.#batchOf(i).nameBytes(this.#indexOf(i))
  }

  *[Symbol.iterator](): Iterator<InotifyEvent> {
    for (let i = 0; i < this.length; i++) {
      yield { wd: this.wd(i), mask: this.mask(i), cookie: this.cookie(i), name: this.name(i) }
    }
  }

  #batchOf(i: number): EventBatch {
    return i < this.#size ? this.#first.batch : this.#second.batch
  }

  #indexOf(i: number): number {
    if (i >>> 0 !== i || i >= this.length) throw new RangeError(`no event ${i} in a batch of ${this.length}`)
    return i < this.#size ? this.#first.start + i : this.#second.start + i - this.#size
  }
}
