import { Lane } from './lane.ts'

export interface ScheduledWork {
  /** ms from the end of one run to the start of the next. */
  every: number
  persistent: boolean
  /** Whether there is something to do: without it no timer runs, and nothing wakes up when nothing happens. */
  needed(): boolean
  run(): Promise<void>
  failed(error: unknown): void
}

/** Work that is repeated while it is needed. One run at a time. */
export class Schedule {
  readonly #work: ScheduledWork
  readonly #lane = new Lane()
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(work: ScheduledWork) {
    this.#work = work
  }

  /** To be called when {@link ScheduledWork.needed} may have become true. */
  arm(): void {
    if (this.#timer !== undefined || this.#stopped || !this.#work.needed()) return
    this.#timer = setTimeout(() => void this.#tick(), this.#work.every)
    if (!this.#work.persistent) this.#timer.unref()
  }

  /** A run that begins after this call. */
  now(): Promise<void> {
    return this.#lane.run(async () => {
      if (!this.#stopped) await this.#work.run()
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#lane.idle()
  }

  async #tick(): Promise<void> {
    try {
      await this.now()
    } catch (error) {
      this.#work.failed(error)
    }
    this.#timer = undefined
    this.arm()
  }
}
