import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../../mounts/syscalls/call_error.ts'
import { runsInGroup } from './processes.ts'

/** ms from SIGTERM to SIGKILL. */
const GRACE = 2000

/**
 * Ends all of a process group: SIGTERM, and SIGKILL to what is left of it after the grace. Returns the outcome.
 *
 * @param exited when the process has been waited for that began it
 */
export async function killGroup(group: number, exited: Promise<unknown>): Promise<string> {
  const isGone = async (ms: number) => {
    // Checks once more after the time: this process may not have been running either.
    let pause = 10
    for (const until = performance.now() + ms; isRunning(group); await sleep(pause)) {
      if (performance.now() >= until) return false
      pause = Math.min(2 * pause, 160)
    }
    return true
  }
  signalGroup(group, 'SIGTERM')
  // A stopped process takes no SIGTERM.
  signalGroup(group, 'SIGCONT')
  const yielded = await isGone(GRACE)
  if (!yielded && signalGroup(group, 'SIGKILL')) await isGone(GRACE)
  // A process of another user's, or in a call on a dead mount, cannot be killed.
  const hasEnded = await Promise.race([exited.then(() => true), sleep(GRACE, false, { ref: false })])
  if (!hasEnded) return 'its process group was sent SIGTERM and SIGKILL, and is still there'
  return `its process group was killed by ${yielded ? 'SIGTERM' : 'SIGTERM and SIGKILL'}`
}

/** Returns false if the group has gone. No other group gets its number while it has a process. */
function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-group, signal)
  } catch {
    return false
  }
}

/** Returns true if the group has any process but zombies: its orphans become init's children, and an init in a container may wait for them late, or never. */
function isRunning(group: number): boolean {
  try {
    return process.kill(-group, 0) && runsInGroup(group)
  } catch (error) {
    // The rest of the group has become another user's, whom /proc may hide; or there is no /proc.
    return codeOf(error) !== 'ESRCH'
  }
}
