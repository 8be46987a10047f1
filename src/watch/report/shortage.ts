import type { Reporter } from './reporter.ts'
import { isShortage } from './watch_error.ts'

/**
 * Whether the process or the system is out of something: threads, descriptors, memory. That says nothing of what was to be looked at, so it
 * stays to be done. A shortage is told once, however many it concerns, and is over when all that it has stopped works again.
 */
export class Shortage {
  readonly #reporter: Pick<Reporter, 'trouble'>
  readonly #stopped = new Set<unknown>()

  constructor(reporter: Pick<Reporter, 'trouble'>) {
    this.#reporter = reporter
  }

  /** What somebody's work comes to. undefined: there is a shortage, and it is to be done again. */
  async unless<T>(whose: unknown, work: () => Promise<T>): Promise<T | undefined> {
    try {
      const done = await work()
      this.#stopped.delete(whose)
      return done
    } catch (error) {
      if (!isShortage(error)) throw error
      if (this.#stopped.size === 0) this.#reporter.trouble(error)
      this.#stopped.add(whose)
      return undefined
    }
  }
}
