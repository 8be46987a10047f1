/** Tasks one at a time, in the order in which they were given. */
export class TaskQueue {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task)
    this.#last = done.catch(() => {})
    return done
  }

  /** Resolves when what was given before is done. */
  async idle(): Promise<void> {
    await this.#last
  }
}
