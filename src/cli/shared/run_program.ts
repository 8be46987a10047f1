import { spawn } from 'node:child_process'
import { CommandError, type Ending, endOf } from './ending.ts'
import { passSignals } from './pass_signals.ts'
import { startReaper } from './reaper.ts'

/** Runs a program as if this process were the program. Rejects with a {@link CommandError} where it cannot be started. */
export async function runProgram(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Ending> {
  try {
    return await standFor(() => spawn(program, args, { env, stdio: 'inherit' }))
  } catch (error) {
    throw new CommandError(program, -((error as NodeJS.ErrnoException).errno ?? 0))
  }
}

/** Starts a child and gives it what this process gets: the signals, and as process 1 of a container the orphans. Returns its end. */
export async function standFor(
  start: () => Parameters<typeof passSignals>[0] & Parameters<typeof endOf>[0],
): Promise<Ending> {
  using _ = startReaper()
  const child = start()
  using __ = passSignals(child)
  return await endOf(child)
}
