// The 27 scenarios of kata-kubernetes.md behind mounts that deliver nothing, made in a mount namespace. All of a kind are played by one
// process, scenarios.mjs, which uses out; the guest plays them as well (test/guest/scenarios.test.ts).
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { mayUnshare } from '../mounts/namespace.ts'
import { directory } from './fixture.ts'
import { impossible, SCENARIOS } from './scenarios/all.mjs'

const isBuilt = existsSync(join(import.meta.dirname, '../../dist/index.js'))
// In a user namespace, which a user needs, there is one owner, and none that chown(2) could give a file to.
const [how, who] = process.getuid?.() === 0 ? ['-m', 'root'] : ['-rm', 'user']

interface Played {
  failures?: Record<string, string>
  unable?: string
}

async function play(kind: string): Promise<Played> {
  const program = [process.execPath, join(import.meta.dirname, 'scenarios.mjs'), kind, directory(), who]
  const child = spawn('unshare', [how, ...program], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(code, output).toBe(0)
  return JSON.parse(output)
}

describe.skipIf(!mayUnshare || !isBuilt)('behind a mount (needs unshare -rm and dist)', () => {
  describe.each(['FUSE', 'overlay'] as const)('%s', (kind) => {
    let played: Promise<Played> | undefined
    for (const [name] of SCENARIOS) {
      const reason = impossible(kind, name)
      test.skipIf(reason !== undefined)(
        reason === undefined ? name : `${name} (${reason})`,
        async ({ skip }) => {
          played ??= play(kind)
          const { failures, unable } = await played
          if (unable !== undefined) skip(`cannot be mounted here: ${unable}`)
          expect(failures?.[name]).toBe('')
        },
      )
    }
  })
})
