import { addAbortListener } from 'node:events'

/**
 * Aborts after so many ms, and when the reloader is closed. Its timer holds it; AbortSignal.any() holds its sources weakly, and a timeout that was collected never
 * comes.
 */
export class TimeLimit extends AbortController implements Disposable {
  readonly #timer: NodeJS.Timeout
  readonly #closing: Disposable

  constructor(ms: number, closing: AbortSignal) {
    super()
    this.#timer = setTimeout(() => this.abort(new Error(`timed out after ${ms} ms`)), ms)
    this.#closing = addAbortListener(closing, () => this.abort(new Error('was ended')))
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#closing[Symbol.dispose]()
  }
}
