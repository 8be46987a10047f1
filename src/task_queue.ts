/** Tasks one at a time, in the order in which they were given; and after each, what is to be done then. */
export class TaskQueue {
  #last: Promise<unknown> = Promise.resolve()
  #size = 0
  readonly #afterEach: () => void | Promise<void>

  constructor(afterEach: () => void | Promise<void> = () => {}) {
    this.#afterEach = afterEach
  }

  /** True: a task is under way, or waits. */
  get isBusy(): boolean {
    return this.#size > 0
  }

  run<T>(task: () => Promise<T>): Promise<T> {
    this.#size++
    const done = this.#last
      .then(task)
      .finally(this.#afterEach)
      .finally(() => {
        this.#size--
      })
    this.#last = done.catch(() => {})
    return done
  }

  /** Resolves when what was given before is done. */
  async idle(): Promise<void> {
    await this.#last
  }
}
