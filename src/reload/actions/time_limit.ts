import { addAbortListener } from 'node:events'

/**
 * Aborts after so many ms, and when another signal does. Its timer holds it; AbortSignal.any() holds its sources weakly, and a timeout
 * that was collected never comes.
 */
export class TimeLimit implements Disposable {
  readonly #controller = new AbortController()
  readonly #timer: NodeJS.Timeout
  readonly #outer: Disposable
  /** True: it ended by the time. */
  expired = false

  constructor(ms: number, outer: AbortSignal) {
    this.#timer = setTimeout(() => {
      this.expired = true
      this.#controller.abort(new DOMException('The time is over', 'TimeoutError'))
    }, ms)
    this.#outer = addAbortListener(outer, () => this.#controller.abort(outer.reason))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Resolves when it aborts. */
  passed(): Promise<true> {
    return new Promise((resolve) => {
      addAbortListener(this.signal, () => resolve(true))
    })
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#outer[Symbol.dispose]()
  }
}
