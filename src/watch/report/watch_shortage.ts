import type { InotifyError } from '../../errors.ts'
import type { Reporter } from './reporter.ts'

/**
 * Notes that no more watches are to be had. A shortage concerns many directories and links, and those
 * that come later too: it is told once, until a watch can be had again.
 */
export class WatchShortage {
  readonly #reporter: Pick<Reporter, 'trouble'>
  #isTold = false

  constructor(reporter: Pick<Reporter, 'trouble'>) {
    this.#reporter = reporter
  }

  /** Notes that a watch was refused for want of one. */
  note(error: InotifyError): void {
    if (!this.#isTold) this.#reporter.trouble(error)
    this.#isTold = true
  }

  /** Notes that a watch could be had again. */
  end(): void {
    this.#isTold = false
  }
}
