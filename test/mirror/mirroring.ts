import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { MirrorOptions } from '../../src/mirror/options.ts'

const built = join(import.meta.dirname, '../../dist/index.js')

/** True if dist is there, which {@link mirroring} needs. */
export const isBuilt = existsSync(built)

/** A process that mirrors; it prints a line when the first pass is over. */
export function mirroring(source: string | string[], target: string, options: MirrorOptions) {
  const program = `import { mirror } from ${JSON.stringify(built)}
    await mirror(...${JSON.stringify([source, target, options])})
    process.stdout.write('ready\\n')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}
