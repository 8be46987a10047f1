import { spawn } from 'node:child_process'
import { type Ending, endOf } from './ending.ts'
import { passSignals } from './pass_signals.ts'
import { Reaper } from './reaper.ts'

/**
 * Runs a program as if this process were the program: its stdin, stdout and stderr, its signals, and as process 1 of a container the orphans.
 * Rejects where it cannot be started.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Ending> {
  using reaper = Reaper.start()
  const child = spawn(program, args, { env, stdio: 'inherit' })
  reaper.ours.add(child.pid as number)
  using _ = passSignals(child)
  return await endOf(child)
}
