import { CoalescedTask } from '../../coalesced_task.ts'
import { keepRunning } from '../../reload/actions/program.ts'
import type { Argv } from '../../reload/options.ts'
import type { Watcher } from '../../watch/watcher.ts'
import { attend } from '../shared/ending.ts'
import { tell } from '../shared/output.ts'
import { startReaper } from '../shared/reaper.ts'

/** A command that goes on, as a server does: started, and begun anew upon changes, until disposed of. */
export class KeptCommand implements AsyncDisposable {
  readonly #kept: ReturnType<typeof keepRunning>
  readonly #delay: number
  readonly #turns: CoalescedTask
  readonly #reaper = startReaper()
  #timer: NodeJS.Timeout | undefined
  // True from the end of one run to the start of the next.
  #isBetween = false

  /** @param delay ms without a change after which it is begun anew */
  constructor(argv: Argv, delay: number, watcher: Watcher) {
    this.#kept = keepRunning(argv, 'inherit')
    this.#delay = delay
    this.#turns = new CoalescedTask(() => this.#begin(watcher))
  }

  /** Starts it. Rejects if it cannot be started. */
  start(): Promise<void> {
    return this.#turns.run()
  }

  /** Notes a change. One between two runs is none: the next run finds it there. Else a command that writes at its end would be begun anew for ever. */
  changed(): void {
    if (this.#isBetween) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      // It may be there at the next change.
      this.#turns.run().catch((error) => tell(error))
    }, this.#delay)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer)
    await Promise.all([this.#kept.end(), this.#turns.idle()])
    this.#reaper[Symbol.dispose]()
  }

  async #begin(watcher: Watcher): Promise<void> {
    clearTimeout(this.#timer)
    this.#isBetween = true
    try {
      await this.#kept.stop()
      await watcher.sync()
    } catch {
      // The watch has ended, and with it the command.
      return
    } finally {
      this.#isBetween = false
    }
    await this.#kept.action({ onChild: attend })
  }
}
