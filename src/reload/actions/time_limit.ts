import { addAbortListener } from 'node:events'

/**
 * The time that an action may take. Aborts after so many ms, and when the reloader is closed. Its timer holds it; AbortSignal.any() holds its sources weakly, and a timeout
 * that was collected never comes.
 */
export class TimeLimit implements Disposable {
  readonly #controller = new AbortController()
  readonly #timer: NodeJS.Timeout
  readonly #listening: Disposable
  readonly ms: number
  /** Aborts when the reloader is closed. */
  readonly closing: AbortSignal
  /** True: it ended by the time. */
  expired = false

  constructor(ms: number, closing: AbortSignal) {
    this.ms = ms
    this.closing = closing
    this.#timer = setTimeout(() => {
      this.expired = true
      this.#controller.abort(new DOMException('The time is over', 'TimeoutError'))
    }, ms)
    this.#listening = addAbortListener(closing, () => this.#controller.abort(closing.reason))
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
    this.#listening[Symbol.dispose]()
  }
}
