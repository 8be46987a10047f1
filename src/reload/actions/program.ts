import { type ChildProcess, spawn } from 'node:child_process'
import { addAbortListener, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { printable } from '../../errors.ts'
import { devNullMissing } from '../../mounts/dev_null.ts'
import { ActionError, OUTPUT_BYTES } from '../failure.ts'
import type { Argv } from '../options.ts'
import type { ActionContext } from './action.ts'
import { withUsualLimit } from './open_files.ts'
import { killGroup } from './process_group.ts'

/** ms for which the output of one that has ended is read on, where something that it has left behind holds it open. */
const LAST_WORDS = 200

/**
 * Runs a program as it is, no shell, in a process group of its own. Resolves when it has ended with exit code 0, else throws an
 * {@link ActionError} with the end of its output. What is killed is killed with all of its group, and is gone by then.
 */
export async function runProgram(
  argv: Argv,
  { signal, onChild, onOutput }: Omit<ActionContext, 'digest'>,
): Promise<void> {
  signal.throwIfAborted()
  const { child, pid, exited } = await start(argv, 'pipe')
  const closed = once(child, 'close').catch(() => {})
  let output = Buffer.alloc(0)
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', (chunk: Buffer) => {
      output = Buffer.concat([output, chunk]).subarray(-OUTPUT_BYTES)
    })
    if (child[name] !== null) onOutput?.(child[name], name)
  }
  onChild?.(
    pid,
    exited.then(() => ''),
  )

  const passed = new Promise<true>((resolve) => void addAbortListener(signal, () => resolve(true)))
  const wasCut = await Promise.race([exited.then(() => false), passed])
  const how = wasCut ? await killGroup(pid, exited) : ''
  await Promise.race([closed, sleep(LAST_WORDS, undefined, { ref: false })])
  child.stdout?.destroy()
  child.stderr?.destroy()
  const why = wasCut ? ` ${signal.reason.message}: ${how}` : `: ${await exited}`
  if (wasCut || child.exitCode !== 0) throw new ActionError(shown(argv[0]) + why, output.toString())
}

/**
 * Starts it in a process group of its own; throws an {@link ActionError} that says why it cannot be. `exited` resolves with the way in which it has ended,
 * once it has been waited for.
 */
export async function start([file, ...args]: Argv, out: 'pipe' | 'inherit') {
  // detached: setsid(2), so that what it starts can be found by its group.
  const child = withUsualLimit(() => spawn(file, args, { detached: true, stdio: ['ignore', out, out] }))
  const { pid } = child
  if (pid === undefined) throw await notStarted(child, file)
  const exited = new Promise<string>((resolve) =>
    child.once('exit', (code, signal) =>
      resolve(signal === null ? `exit code ${code}` : `killed by ${signal}`),
    ),
  )
  return { child, pid, exited }
}

export function shown(file: string): string {
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
