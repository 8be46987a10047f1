// Batches that may wait for a slow consumer before delivery is held back. Later events stay in native memory
// (maxQueuedBytes) and behind that in the kernel, whose IN_Q_OVERFLOW says when even that was not enough.
const HIGH_WATER = 16
// Joined values are counted by their contents.
const HIGH_WATER_JOINED = 4096

/** One `for await` over batches: a bounded queue between the loop's pace and the consumer's. */
export class BatchIterator<T extends { readonly length: number }> implements AsyncIterableIterator<T> {
  readonly #waiting: T[] = []
  readonly #asked: Array<PromiseWithResolvers<IteratorResult<T>>> = []
  readonly #onRoom: () => void
  readonly #onReturn: (rest: T[]) => void | Promise<void>
  readonly #join: ((batches: T[]) => T) | undefined
  #size = 0
  #ended = false
  #failure: { error: unknown } | undefined

  /**
   * onRoom: called when there is room again after {@link full}. onReturn: called when the consumer leaves, with the `rest`; the
   * loop ends when its promise resolves. join: makes one value of all that wait.
   */
  constructor(onRoom: () => void, onReturn: (rest: T[]) => void | Promise<void>, join?: (batches: T[]) => T) {
    this.#onRoom = onRoom
    this.#onReturn = onReturn
    this.#join = join
  }

  get full(): boolean {
    return this.#join === undefined ? this.#waiting.length >= HIGH_WATER : this.#size >= HIGH_WATER_JOINED
  }

  /** The number of values that wait for the consumer. */
  get waiting(): number {
    return this.#waiting.length
  }

  push(value: T): void {
    const asked = this.#asked.shift()
    if (asked) asked.resolve({ done: false, value })
    else {
      this.#waiting.push(value)
      this.#size += value.length
    }
  }

  /** Ends the iteration: what waits is still handed out, and then the error, if there is one. */
  end(failure?: { error: unknown }): void {
    if (this.#ended) return
    this.#ended = true
    this.#failure = failure
    for (const asked of this.#asked.splice(0)) this.#settle(asked)
  }

  next(): Promise<IteratorResult<T>> {
    const asked = withResolvers<IteratorResult<T>>()
    const value = this.#take()
    if (value !== undefined) {
      asked.resolve({ done: false, value })
      this.#onRoom()
    } else if (this.#ended) this.#settle(asked)
    else this.#asked.push(asked)
    return asked.promise
  }

  async return(): Promise<IteratorResult<T>> {
    const rest = this.#waiting.splice(0)
    this.end()
    await this.#onReturn(rest)
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #take(): T | undefined {
    this.#size = 0
    const isOne = this.#join === undefined || this.#waiting.length < 2
    return isOne ? this.#waiting.shift() : this.#join?.(this.#waiting.splice(0))
  }

  #settle(asked: PromiseWithResolvers<IteratorResult<T>>): void {
    const failure = this.#failure
    this.#failure = undefined
    if (failure) asked.reject(failure.error)
    else asked.resolve({ done: true, value: undefined })
  }
}

interface PromiseWithResolvers<T> {
  promise: Promise<T>
  resolve(value: T): void
  reject(reason: unknown): void
}

// Promise.withResolvers is not in Node 20.
function withResolvers<T>(): PromiseWithResolvers<T> {
  let resolve: (value: T) => void = () => {}
  let reject: (reason: unknown) => void = () => {}
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
