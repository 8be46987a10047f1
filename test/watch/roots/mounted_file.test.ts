// A file that is mounted by itself, in a directory that is watched: see mounted_file.mjs.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../../dist/index.js'))

describe.skipIf(!mayUnshare || !isBuilt)('a single-file mount (needs unshare -rm and dist)', () => {
  test.each(['inotify', 'poll'])('is told once, with its directory: %s', async (backend) => {
    const program = [process.execPath, join(import.meta.dirname, 'mounted_file.mjs'), backend, scratch()]
    const child = spawn('unshare', ['-rm', ...program], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
    expect(code, output).toBe(0)
    expect(JSON.parse(output)).toEqual(['modify /etc/key', 'modify /etc/own'])
  })
})
