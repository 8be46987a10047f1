// Polls of a large tree behind FUSE, by poll_budget.mjs, which uses dist. Half a million files take ten minutes:
//
//   LONG=1 DIRECTORIES=5000 FILES=100 SECONDS=300 npx vitest run test/watch/poll/poll_budget_on_fuse.test.ts
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { mayUnshare } from '../../mounts/namespace.ts'
import { compile } from '../../support/compile.ts'
import { isLong } from '../../support/long.ts'
import { scratch } from '../../support/scratch.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../../dist/index.js'))
const { DIRECTORIES = '100', FILES = '40', REQUESTS = '500', SECONDS = '60' } = process.env

interface Result {
  unable?: string
  ready: number
  latency: number
  cpu: number
  requests: number
  seconds: number
  cold: number[]
  hot: number[]
  untold: number
  wrong: number
}

test.skipIf(!isLong || !mayUnshare || !isBuilt)(
  'polls keep their budget, and tell in time (takes a minute: LONG=1; needs unshare -rm and dist)',
  async ({ skip, onTestFinished }) => {
    const front = join(scratch(undefined, onTestFinished), 'front')
    mkdirSync(front)
    const program = join(import.meta.dirname, 'poll_budget.mjs')
    const argv = [compile('large_fuse', ['-pthread']), front, DIRECTORIES, FILES, REQUESTS, SECONDS]
    const child = spawn('unshare', ['-rm', process.execPath, program, ...argv], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    expect(code, output).toBe(0)
    const result: Result = JSON.parse(output)
    if (result.unable !== undefined) skip(`cannot be mounted here: ${result.unable}`)
    const { cold, hot, latency, untold, wrong } = result
    const median = hot.toSorted((a, b) => a - b)[hot.length >> 1]
    process.stdout.write(`${JSON.stringify({ ...result, cold: cold.length, hot: hot.length, median })}\n`)
    expect(result.requests).toBeLessThan(Number(REQUESTS))
    expect(result.cpu).toBeLessThan(0.05)
    expect(wrong).toBe(0)
    expect(hot.length).toBeGreaterThan(10)
    expect(median).toBeLessThan(1000)
    expect(Math.max(...cold, ...hot)).toBeLessThan(latency)
    // A round takes longer than this test, where there are more files.
    if (latency < Number(SECONDS) * 1000) expect(untold).toBe(0)
  },
)
