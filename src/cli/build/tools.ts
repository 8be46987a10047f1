import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { basename } from 'node:path'

interface How {
  cwd: string
  env: NodeJS.ProcessEnv
  signal: AbortSignal
}

/** Runs a program whose output is shown if it fails, which rejects, and not otherwise. */
export async function run(program: string, args: readonly string[], how: How): Promise<void> {
  const child = spawn(program, args, { ...how, stdio: ['ignore', 'pipe', 'pipe'] })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
  const [code] = await once(child, 'close').catch((cause) => {
    how.signal.throwIfAborted()
    if (cause?.code === 'ENOENT') throw new Error(`${basename(program)} is missing`, { cause })
    throw cause
  })
  if (code === 0) return
  process.stderr.write(Buffer.concat(output))
  const [script = program] = program === process.execPath ? args : []
  throw new Error(`${basename(script)} failed: see above`)
}

/** The first one that cannot be run of what compiles. */
export async function compilerThatIsMissing(signal: AbortSignal): Promise<string | undefined> {
  for (const program of [process.env.CXX ?? 'g++', 'make', process.env.PYTHON ?? 'python3']) {
    // CXX may have flags, and a launcher before the compiler.
    const [name = ''] = program.split(' ')
    const isThere = await run(name, ['--version'], { cwd: '/', env: process.env, signal }).then(
      () => true,
      () => false,
    )
    if (!isThere) return name
  }
  return undefined
}
