/**
 * Work that many may ask for at once. Who asks gets a run that begins after that: the one under way when they ask does not count, but
 * all who ask meanwhile share the next.
 */
export class SharedRun {
  readonly #work: () => Promise<void>
  #last: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  run(): Promise<void> {
    this.#next ??= this.#begin()
    return this.#next
  }

  async #begin(): Promise<void> {
    const before = this.#last
    const run = before
      .catch(() => {})
      .then(() => {
        this.#next = undefined
        return this.#work()
      })
    this.#last = run
    await run
  }
}
