import { TaskQueue } from '../../task_queue.ts'
import type { PollContext } from '../poll/context.ts'

export interface RepeatedWork {
  /** ms from the end of one run to the start of the next. */
  every(): number
  /** Returns true if there is something to do: else no timer runs, and nothing wakes up when nothing happens. */
  needed(): boolean
  /** @param isDue true: it was the timer's turn, and nobody waits for the run */
  run(isDue: boolean): Promise<void>
  /**
   * Waits in place of the timer, and of runs that would find nothing to do. Resolves with true if there
   * is something to do; if not, the timer decides. undefined: the timer decides in any case.
   */
  pollIdle?(): Promise<boolean> | undefined
  /** Ends that wait, and drops its finding, if a run is due that begins now; else only if there is more to be done by now. */
  interrupt?(isRunDue: boolean): void
}

/** Work that is repeated while it is needed. One run at a time. Of a run for which nobody waits, errors are told as trouble. */
export class RepeatingTask {
  readonly #context: PollContext
  readonly #work: RepeatedWork
  readonly #queue = new TaskQueue()
  #cancelTimer: (() => void) | undefined
  /** True: the idle poll is under way. */
  isIdle = false
  // True: the timer has run out, and its run is under way.
  #isRunning = false
  #stopped = false

  constructor(context: PollContext, work: RepeatedWork) {
    this.#context = context
    this.#work = work
  }

  /** Starts the timer or the idle poll. The owner calls it when {@link RepeatedWork.needed} may have become true. */
  arm(): void {
    if (this.isIdle) this.#work.interrupt?.(false)
    if (this.#cancelTimer !== undefined || this.isIdle || this.#stopped || !this.#work.needed()) return
    const idle = this.#work.pollIdle?.()
    if (idle === undefined) {
      this.#wait()
      return
    }
    this.isIdle = true
    idle
      .catch((error) => {
        if (!this.#stopped) this.#context.reporter.trouble(error)
        return false
      })
      .then((isDue) => {
        this.isIdle = false
        if (this.#stopped || this.#cancelTimer !== undefined) return
        if (isDue) this.#wait(0)
        else if (this.#work.needed()) this.#wait()
      })
  }

  /** Forgets when the next run is due, as {@link RepeatedWork.every} has changed. */
  rearm(): void {
    if (this.#isRunning) return
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.arm()
  }

  /** Does a run that begins after this call. */
  now(): Promise<void> {
    this.#work.interrupt?.(true)
    return this.#run(false)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    this.#work.interrupt?.(true)
    await this.#queue.idle()
  }

  #run(isDue: boolean): Promise<void> {
    return this.#queue.run(async () => {
      if (!this.#stopped) await this.#work.run(isDue)
    })
  }

  #wait(ms = this.#work.every()): void {
    this.#cancelTimer = this.#context.system.clock.after(ms, () => void this.#tick())
  }

  async #tick(): Promise<void> {
    this.#isRunning = true
    try {
      await this.#run(true)
    } catch (error) {
      this.#context.reporter.trouble(error)
    }
    this.#isRunning = false
    this.#cancelTimer = undefined
    this.arm()
  }
}
