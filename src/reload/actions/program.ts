import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { printable } from '../../errors.ts'
import { devNullMissing } from '../../mounts/dev_null.ts'
import { ActionError, Tail } from '../failure.ts'
import { killGroup } from './process_group.ts'
import { TimeLimit } from './time_limit.ts'

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
