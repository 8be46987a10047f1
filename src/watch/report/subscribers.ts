import { BatchIterator } from '../../inotify/iterator.ts'

/** One who is given values until the end. */
interface Subscriber<T> {
  /** True: as much waits for it as may. */
  readonly full: boolean
  push(values: T[]): void
  end(failure?: { error: unknown }): void
}

/** The iterators over changes, each of which hands out all that waits as one array, and the back-pressure of the slowest; and those who wait for one change. */
export class Subscribers<T> {
  readonly #subscribed = new Set<Subscriber<T>>()
  readonly #onLeft: () => void | Promise<void>
  #end: { failure?: { error: unknown } } | undefined
  #hurried = 0
  #waiting: Array<() => void> = []

  /** @param onLeft called when the last iterating caller has left its loop */
  constructor(onLeft: () => void | Promise<void>) {
    this.#onLeft = onLeft
  }

  get size(): number {
    return this.#subscribed.size
  }

  iterate(): AsyncIterableIterator<T[]> {
    const iterator: BatchIterator<T[]> = new BatchIterator(
      () => this.#wake(),
      () => {
        const isLast = this.#subscribed.delete(iterator) && this.#subscribed.size === 0
        this.#wake()
        if (isLast) return this.#onLeft()
      },
      (arrays) => arrays.flat(),
    )
    if (this.#end === undefined) this.#subscribed.add(iterator)
    else iterator.end(this.#end.failure)
    return iterator
  }

  /** Resolves with the first value from now on that passes a test; undefined: there was an end without a failure before. Rejects with that failure, or the signal's reason. */
  first(test: (value: T) => boolean, signal: AbortSignal | undefined): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const onAbort = () => settle(() => reject(signal?.reason))
      const settle = (tell: () => void) => {
        this.#subscribed.delete(one)
        signal?.removeEventListener('abort', onAbort)
        tell()
      }
      const one: Subscriber<T> = {
        full: false,
        push: (values) => {
          const found = values.find(test)
          if (found !== undefined) settle(() => resolve(found))
        },
        end: (failure) => settle(() => (failure ? reject(failure.error) : resolve(undefined))),
      }
      if (this.#end !== undefined) return one.end(this.#end.failure)
      signal?.addEventListener('abort', onAbort)
      this.#subscribed.add(one)
    })
  }

  push(values: T[]): void {
    for (const each of this.#subscribed) each.push(values)
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
    for (const each of this.#subscribed) each.end(failure)
    this.#subscribed.clear()
    this.#wake()
  }

  get #hasRoom(): boolean {
    return this.#hurried > 0 || ![...this.#subscribed].some(({ full }) => full)
  }

  #wake(): void {
    if (!this.#hasRoom) return
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
