import { CoalescedTask } from '../../coalesced_task.ts'
import { keepRunning } from '../../reload/actions/program.ts'
import type { Argv } from '../../reload/options.ts'
import type { Watcher } from '../../watch/watcher.ts'
import { attend } from '../shared/ending.ts'
import { tell } from '../shared/output.ts'

/**
 * Keeps a command that goes on, as a server does: started, and begun anew upon changes, until disposed of.
 *
 * @param delay ms without a change after which it is begun anew
 */
export function keepCommand({ argv, delay }: { argv: Argv; delay: number }, watcher: Watcher) {
  const kept = keepRunning(argv, 'inherit')
  let timer: NodeJS.Timeout | undefined
  // True from the end of one run to the start of the next.
  let isBetween = false
  const turns = new CoalescedTask(async () => {
    clearTimeout(timer)
    isBetween = true
    try {
      await kept.stop()
      await watcher.sync()
    } catch {
      // The watch has ended, and with it the command.
      return
    } finally {
      isBetween = false
    }
    await kept.action({ onChild: attend })
  })
  return {
    /** Starts it. Rejects if it cannot be started. */
    start: () => turns.run(),
    /** Notes a change. One between two runs is none: the next run finds it there. Else a command that writes at its end would be begun anew for ever. */
    changed(): void {
      if (isBetween) return
      clearTimeout(timer)
      // A program that cannot be started may be there at the next change.
      timer = setTimeout(() => void turns.run().catch((error) => tell(error)), delay)
    },
    async [Symbol.asyncDispose](): Promise<void> {
      clearTimeout(timer)
      await Promise.all([kept.end(), turns.idle()])
    },
  }
}
