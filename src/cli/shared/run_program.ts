import { spawn } from 'node:child_process'
import { CommandError, type Ending, endOf } from './ending.ts'
import { passSignals } from './pass_signals.ts'

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

/** Starts a child and passes the signals on to it that this process gets. Returns its end. */
export async function standFor(
  start: () => Parameters<typeof passSignals>[0] & Parameters<typeof endOf>[0],
): Promise<Ending> {
  const child = start()
  using _ = passSignals(child)
  return await endOf(child)
}
