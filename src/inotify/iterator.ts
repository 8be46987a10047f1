// Batches that may wait for a slow consumer before delivery is held back. What comes then stays in native memory
// (maxQueuedBytes) and behind that in the kernel, whose IN_Q_OVERFLOW says when even that was not enough.
const HIGH_WATER = 16

/** One `for await` over an Inotify: a bounded queue between the loop's pace and the consumer's. */
export class BatchIterator<T> implements AsyncIterableIterator<T> {
  readonly #waiting: T[] = []
  readonly #asked: Array<PromiseWithResolvers<IteratorResult<T>>> = []
  readonly #onRoom: () => void
  readonly #onReturn: (rest: T[]) => void
  #ended = false
  #failure: { error: unknown } | undefined

  /** onRoom: there is room again after {@link full}. onReturn: the consumer has left, and `rest` behind. */
  constructor(onRoom: () => void, onReturn: (rest: T[]) => void) {
    this.#onRoom = onRoom
    this.#onReturn = onReturn
  }

  get full(): boolean {
    return this.#waiting.length >= HIGH_WATER
  }

  push(value: T): void {
    const asked = this.#asked.shift()
    if (asked) asked.resolve({ done: false, value })
    else this.#waiting.push(value)
  }

  /** No more will come; what waits is still handed out, and then the error, if there is one. */
  end(failure?: { error: unknown }): void {
    if (this.#ended) return
    this.#ended = true
    this.#failure = failure
    for (const asked of this.#asked.splice(0)) this.#settle(asked)
  }

  next(): Promise<IteratorResult<T>> {
    const asked = withResolvers<IteratorResult<T>>()
    const value = this.#waiting.shift()
    if (value !== undefined) {
      asked.resolve({ done: false, value })
      this.#onRoom()
    } else if (this.#ended) this.#settle(asked)
    else this.#asked.push(asked)
    return asked.promise
  }

  return(): Promise<IteratorResult<T>> {
    const rest = this.#waiting.splice(0)
    this.end()
    this.#onReturn(rest)
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
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
