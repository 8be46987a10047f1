import { BatchIterator } from '../../inotify/iterator.ts'

/** The iterators over changes, each of which hands out all that waits as one array, and the back-pressure of the slowest. */
export class Subscribers<T> {
  readonly #iterators = new Set<BatchIterator<T[]>>()
  readonly #onLeft: () => void | Promise<void>
  #end: { failure?: { error: unknown } } | undefined
  #hurried = 0
  #waiting: Array<() => void> = []

  /** @param onLeft called when the last iterating caller has left its loop */
  constructor(onLeft: () => void | Promise<void>) {
    this.#onLeft = onLeft
  }

  get size(): number {
    return this.#iterators.size
  }

  iterate(): AsyncIterableIterator<T[]> {
    const iterator: BatchIterator<T[]> = new BatchIterator(
      () => this.#wake(),
      () => {
        const isLast = this.#iterators.delete(iterator) && this.#iterators.size === 0
        this.#wake()
        if (isLast) return this.#onLeft()
      },
      (arrays) => arrays.flat(),
    )
    if (this.#end === undefined) this.#iterators.add(iterator)
    else iterator.end(this.#end.failure)
    return iterator
  }

  push(value: T[]): void {
    for (const iterator of this.#iterators) iterator.push(value)
  }

  /** Resolves when no iterator is full. */
  room(): Promise<void> {
    if (this.#hasRoom) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Does a task during which full iterators hold nothing back: the caller that awaits it may be the one to read them. */
  async hurry(task: () => Promise<void>): Promise<void> {
    this.#hurried++
    this.#wake()
    try {
      await task()
    } finally {
      this.#hurried--
    }
  }

  /** Ends the iteration: what waits is still handed out, and then the failure, if there is one. */
  end(failure?: { error: unknown }): void {
    this.#end = failure === undefined ? {} : { failure }
    for (const iterator of this.#iterators) iterator.end(failure)
    this.#iterators.clear()
    this.#wake()
  }

  get #hasRoom(): boolean {
    return this.#hurried > 0 || ![...this.#iterators].some((iterator) => iterator.full)
  }

  #wake(): void {
    if (!this.#hasRoom) return
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
