import type { InotifyError } from '../../errors.ts'
import type { Reporter } from './reporter.ts'

/**
 * Whether there are no more watches to be had. That concerns many directories and links, and those that come later too: it is told once, until a
 * watch could be had again.
 */
export class WatchShortage {
  readonly #reporter: Pick<Reporter, 'trouble'>
  #isTold = false

  constructor(reporter: Pick<Reporter, 'trouble'>) {
    this.#reporter = reporter
  }

  /** A watch was refused for want of one. */
  note(error: InotifyError): void {
    if (!this.#isTold) this.#reporter.trouble(error)
    this.#isTold = true
  }

  /** One could be had again. */
  end(): void {
    this.#isTold = false
  }
}
