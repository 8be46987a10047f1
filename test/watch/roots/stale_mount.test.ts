// A single-file mount that an update leaves behind while it is watched: see stale_mount.mjs.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../../dist/index.js'))

interface Seen {
  told: string[]
  coverage: Array<{ why: string; uncovered: string[] }>
  atFirst: string[]
}

describe.skipIf(!mayUnshare || !isBuilt)('a subPath that becomes stale (needs unshare -rm and dist)', () => {
  test.each(['inotify', 'poll'])('is lost, and coverage() says why: %s', async (backend) => {
    const program = [process.execPath, join(import.meta.dirname, 'stale_mount.mjs'), backend, scratch()]
    const child = spawn('unshare', ['-rm', ...program], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
    expect(code, output).toBe(0)
    const { told, coverage, atFirst }: Seen = JSON.parse(output)
    expect([...new Set(told)]).toEqual(['modify /etc/key', 'lost /etc/key stale'])
    const why = /a stale single-file mount \(Kubernetes' subPath.*inotify-bridge diagnose/
    expect(coverage).toEqual([
      {
        why: expect.stringMatching(why),
        uncovered: [expect.stringMatching(/^ESTALE: stale file handle, watch/)],
      },
    ])
    expect(atFirst, 'of one that was stale before').toEqual([expect.stringMatching(why)])
  })
})
