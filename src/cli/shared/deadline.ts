/** Expires when it has not been restarted for so many seconds; never, where they are 0 or not given. */
export class Deadline {
  readonly #seconds: number
  readonly #expire: () => void
  #timer: NodeJS.Timeout | undefined
  expired = false

  constructor(seconds = 0, expire: () => void) {
    this.#seconds = seconds
    this.#expire = expire
  }

  restart(): void {
    this.stop()
    if (this.#seconds === 0) return
    this.#timer = setTimeout(() => {
      this.expired = true
      this.#expire()
    }, this.#seconds * 1000)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
