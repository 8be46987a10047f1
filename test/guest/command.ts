import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Runs a program without a shell, and returns its output. Throws its error output. */
export async function command(argv: readonly [string, ...string[]], cwd?: string): Promise<string> {
  const [file, ...rest] = argv
  // 120 s: a download has 70 MB, and nothing else here takes a second.
  const { stdout } = await execute(file, rest, { cwd, timeout: 120_000, maxBuffer: 64 * 1024 * 1024 })
  return stdout
}
