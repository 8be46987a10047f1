// Something is mounted while files that are given together are looked at: see mounted_together.mjs.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'
import { isBuilt } from '../child.ts'

test.skipIf(!mayUnshare || !isBuilt)(
  'what is mounted over files and their directory is watched, whenever it is mounted (needs unshare -rm and dist)',
  async () => {
    const program = [process.execPath, join(import.meta.dirname, 'mounted_together.mjs'), scratch()]
    const child = spawn('unshare', ['-rm', ...program], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
    expect(code, output).toBe(0)
    const rounds: Array<{ written: string[]; unmounted: string[] }> = JSON.parse(output)
    // Each directory is resolved before it is watched, and again after that.
    expect(rounds.length).toBeGreaterThan(8)
    const both = ['d/mounted', 'e/f']
    expect(rounds).toEqual(rounds.map(() => ({ written: both, unmounted: both })))
  },
)
