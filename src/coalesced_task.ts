/**
 * Work that many may ask for at once. Who asks gets a run that begins after that: the one under way when they ask may have looked too early,
 * and does not count; but all who ask meanwhile share the next.
 */
export class CoalescedTask {
  readonly #work: () => Promise<void>
  #last: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  /** Resolves, or rejects, as the run does that begins after this call. */
  run(): Promise<void> {
    this.#next ??= this.#begin()
    return this.#next
  }

  /** Resolves when nothing runs, and nothing is to. */
  async idle(): Promise<void> {
    for (let last = this.#last; ; last = this.#last) {
      await last.catch(() => {})
      if (last === this.#last) return
    }
  }

  #begin(): Promise<void> {
    const run = this.#last
      .catch(() => {})
      .then(() => {
        this.#next = undefined
        return this.#work()
      })
    this.#last = run
    return run
  }
}
