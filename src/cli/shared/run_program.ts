import { spawn } from 'node:child_process'
import { CommandError, type Ending, endLike, endOf } from './ending.ts'
import { passSignals } from './pass_signals.ts'
import { Reaper } from './reaper.ts'

/**
 * Runs a program as if this process were the program: its stdin, stdout and stderr, its signals, its end, and as process 1 of a container
 * the orphans. Returns its exit code; rejects with a {@link CommandError} where it cannot be started.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<number> {
  // Only then a signal to itself is no longer one that is passed on.
  return endLike(await ending(program, args, env))
}

async function ending(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ending> {
  using reaper = Reaper.start()
  const child = spawn(program, args, { env, stdio: 'inherit' })
  reaper.ours.add(child.pid as number)
  using _ = passSignals(child)
  try {
    return await endOf(child)
  } catch (error) {
    throw new CommandError(program, -((error as NodeJS.ErrnoException).errno ?? 0))
  }
}
