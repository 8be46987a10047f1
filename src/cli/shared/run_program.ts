import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { CommandError, type Ending, endOf } from './ending.ts'
import { passSignals } from './pass_signals.ts'
import { startReaper } from './reaper.ts'

/**
 * Runs a program as if this process were the program: its stdin, stdout and stderr, its signals, and as process 1 of a container the
 * orphans. Rejects with a {@link CommandError} where the program cannot be started.
 *
 * @param onReport gets the program's descriptor 3, if it is to have one
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  onReport?: (report: Readable) => void,
): Promise<Ending> {
  using _ = startReaper()
  const child = spawn(program, args, { env, stdio: [0, 1, 2, ...(onReport ? ['pipe' as const] : [])] })
  using __ = passSignals(child)
  // A program that could not be started may have no pipes.
  const report = child.stdio?.[3] as Readable | undefined
  if (report !== undefined) onReport?.(report)
  try {
    return await endOf(child)
  } catch (error) {
    throw new CommandError(program, -((error as NodeJS.ErrnoException).errno ?? 0))
  }
}
