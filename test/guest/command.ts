import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Runs a program, no shell between, and returns what it printed; throws what it complained of. */
export async function command(argv: readonly [string, ...string[]], cwd?: string): Promise<string> {
  const [file, ...rest] = argv
  // 120 s: a download of 70 MB; nothing else here takes a second.
  const { stdout } = await execute(file, rest, { cwd, timeout: 120_000, maxBuffer: 64 * 1024 * 1024 })
  return stdout
}
