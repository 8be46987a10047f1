/**
 * Aborts after so many ms, and when another signal does. Its timer holds it; AbortSignal.any() holds its sources weakly, and a timeout
 * that was collected never comes.
 */
export class TimeLimit implements Disposable {
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal
  readonly #timer: NodeJS.Timeout
  readonly #onAbort = () => this.#controller.abort(this.#outer.reason)
  /** True: it ended by the time. */
  expired = false

  constructor(ms: number, outer: AbortSignal) {
    this.#outer = outer
    this.#timer = setTimeout(() => {
      this.expired = true
      this.#controller.abort(new DOMException('The time is over', 'TimeoutError'))
    }, ms)
    if (outer.aborted) this.#onAbort()
    else outer.addEventListener('abort', this.#onAbort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Resolves when it aborts. */
  passed(): Promise<true> {
    return new Promise((resolve) => {
      if (this.signal.aborted) resolve(true)
      else this.signal.addEventListener('abort', () => resolve(true), { once: true })
    })
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#outer.removeEventListener('abort', this.#onAbort)
  }
}
