import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { basename } from 'node:path'
import { killGroup } from '../../reload/actions/process_group.ts'
import { aborted } from '../shared/aborted.ts'

interface How {
  cwd: string
  env: NodeJS.ProcessEnv
  /** Ends it, with all that it has started: make and the compilers below it would go on, and write into what has been removed. */
  signal: AbortSignal
}

/** Runs a program whose output is shown if it fails, which rejects, and not otherwise. */
export async function run(program: string, args: readonly string[], { signal, ...how }: How): Promise<void> {
  signal.throwIfAborted()
  // detached: setsid(2), so that what it starts can be found by its group.
  const child = spawn(program, args, { ...how, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const closed = once(child, 'close')
  const isStopped = await Promise.race([closed.then(() => false), aborted(signal).then(() => true)]).catch(
    (cause) => {
      if (cause?.code === 'ENOENT') throw new Error(`${basename(program)} is missing`, { cause })
      throw cause
    },
  )
  if (isStopped) {
    if (child.pid !== undefined) await killGroup(child.pid, exited)
    for (const stream of [child.stdout, child.stderr]) stream.destroy()
    throw signal.reason
  }
  if (child.exitCode === 0) return
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
      (error) => {
        // That is no matter of which program it is.
        if (error.code === 'ERR_ACCESS_DENIED') throw error
        return false
      },
    )
    signal.throwIfAborted()
    if (!isThere) return name
  }
  return undefined
}
