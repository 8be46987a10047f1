/** A task that runs once at a time, and again for whoever asks while it does: that run may have looked too early. */
export class Turns {
  readonly #task: () => Promise<void>
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(task: () => Promise<void>) {
    this.#task = task
  }

  /** Resolves when a run that began after the call is over. */
  take(): Promise<void> {
    if (this.#running === undefined) {
      this.#running = this.#task().finally(() => {
        this.#running = undefined
      })
      return this.#running
    }
    const after = () => {
      this.#next = undefined
      return this.take()
    }
    this.#next ??= this.#running.then(after, after)
    return this.#next
  }

  /** Resolves when nothing runs, and nothing is to. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await Promise.allSettled([this.#running, this.#next])
  }
}
