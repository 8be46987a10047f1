import type { Reporter } from './reporter.ts'
import { isShortage } from './watch_error.ts'

/**
 * Notes that the process or the system is out of something: threads, descriptors and memory, or watches. A shortage says nothing of what was to be looked
 * at, so the work stays to be done. A shortage is told once, however many tasks it stops, and is over when all of those work again.
 */
export class Shortage {
  readonly #reporter: Pick<Reporter, 'trouble'>
  readonly #stopped = new Set<unknown>()

  constructor(reporter: Pick<Reporter, 'trouble'>) {
    this.#reporter = reporter
  }

  /** Notes that a shortage has stopped somebody's work. */
  note(error: unknown, whose: unknown = undefined): void {
    if (this.#stopped.size === 0) this.#reporter.trouble(error)
    this.#stopped.add(whose)
  }

  /** Notes that somebody's work is done again. */
  end(whose: unknown = undefined): void {
    this.#stopped.delete(whose)
  }

  /** Does somebody's work. Returns false if there is a shortage, and the work is to be done again. */
  async unless(whose: unknown, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work()
      this.end(whose)
      return true
    } catch (error) {
      if (!isShortage(error)) throw error
      this.note(error, whose)
      return false
    }
  }
}
