import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { printable } from '../../errors.ts'
import { devNullMissing } from '../../mounts/dev_null.ts'
import { ActionError, Tail } from '../failure.ts'
import { runsInGroup } from './processes.ts'
import { TimeLimit } from './time_limit.ts'

/** ms from SIGTERM to SIGKILL. */
const GRACE = 2000
/** ms for which the output of one that has ended is read on, where something that it has left behind holds it open. */
const LAST_WORDS = 200

export interface ProgramOptions {
  /** ms after which it is killed. */
  readonly timeout: number
  /** Kills it when it aborts. */
  readonly signal: AbortSignal
  /** Called when there is a child, before it can have ended; `ended` resolves when it has been waited for. */
  readonly onChild?: (pid: number, ended: Promise<void>) => void
}

/**
 * Runs a program as it is, no shell, in a process group of its own. Resolves when it has ended with exit code 0, else throws an
 * {@link ActionError} with the end of its output. What is killed is killed with all of its group, and is gone by then.
 */
export async function runProgram(
  [file, ...args]: readonly [string, ...string[]],
  { timeout, signal, onChild }: ProgramOptions,
): Promise<void> {
  // Loaded here: it brings the network with it, which is not for those who came for the raw events.
  const { spawn } = await import('node:child_process')
  signal.throwIfAborted()
  // detached: setsid(2), so that what it starts can be found by its group.
  const child = spawn(file, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const closed = once(child, 'close').catch(() => {})
  if (child.pid === undefined) throw await notStarted(child, file)
  const output = new Tail()
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.add(chunk))
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  onChild?.(child.pid, exited)

  using limit = new TimeLimit(timeout, signal)
  const wasCut = await Promise.race([exited.then(() => false), limit.passed()])
  const how = wasCut ? await killGroup(child.pid, exited) : ''
  await Promise.race([closed, sleep(LAST_WORDS, undefined, { ref: false })])
  child.stdout.destroy()
  child.stderr.destroy()
  if (wasCut) {
    const why = limit.expired ? `timed out after ${timeout} ms` : 'was ended'
    throw new ActionError(`${shown(file)} ${why}: ${how}`, output.toString())
  }
  if (child.exitCode === 0) return
  const ending = child.signalCode === null ? `exit code ${child.exitCode}` : `killed by ${child.signalCode}`
  throw new ActionError(`${shown(file)}: ${ending}`, output.toString())
}

function shown(file: string): string {
  return `'${printable(file)}'`
}

async function notStarted(child: ChildProcess, file: string): Promise<ActionError> {
  const [error] = (await once(child, 'error').catch((reason: unknown) => [reason])) as [NodeJS.ErrnoException]
  // Opened before the program is looked for, and by that program's error.
  const missing = devNullMissing()
  if (missing !== undefined) return new ActionError(`${shown(file)}: ${missing}`)
  const hint =
    error.code === 'ENOENT'
      ? 'there is no such program, or not the interpreter that its first line names; it is looked for in PATH, and run without a shell'
      : error.code === 'EACCES'
        ? 'it cannot be executed: chmod +x, and a mount without noexec'
        : 'it could not be started'
  return new ActionError(`${shown(file)}: ${error.code}: ${hint}`)
}

/** SIGTERM to the group, and SIGKILL to what is left of it after the grace. Returns what became of it. */
async function killGroup(group: number, exited: Promise<void>): Promise<string> {
  const isGone = async (ms: number) => {
    // Looked at once more behind the time: this process may not have been running either.
    let pause = 10
    for (const until = performance.now() + ms; isRunning(group); await sleep(pause)) {
      if (performance.now() >= until) return false
      pause = Math.min(2 * pause, 160)
    }
    return true
  }
  signalGroup(group, 'SIGTERM')
  // One that is stopped takes no SIGTERM.
  signalGroup(group, 'SIGCONT')
  const yielded = await isGone(GRACE)
  if (!yielded && signalGroup(group, 'SIGKILL')) await isGone(GRACE)
  // Another user's, or in a call on a dead mount, it cannot be killed.
  const hasEnded = await Promise.race([exited.then(() => true), sleep(GRACE, false, { ref: false })])
  if (!hasEnded) return 'its process group was sent SIGTERM and SIGKILL, and is still there'
  return `its process group was killed by ${yielded ? 'SIGTERM' : 'SIGTERM and SIGKILL'}`
}

/** False if there is no such group any more. Its number is no other's while there is one process in it. */
function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-group, signal)
  } catch {
    return false
  }
}

/**
 * Whether there is anything of the group but zombies: what it leaves behind becomes the init's, and one in a container may wait for them late,
 * or never.
 */
function isRunning(group: number): boolean {
  try {
    process.kill(-group, 0)
  } catch (error) {
    // All that is left of it has become another user's, whom /proc may hide.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  try {
    return runsInGroup(group)
  } catch {
    // No /proc.
    return true
  }
}
