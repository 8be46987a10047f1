// A FUSE mount behind which things change: silent.mjs uses dist.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { mayUnshare } from '../mounts/namespace.ts'
import { scratch } from '../support/scratch.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../dist/index.js'))

/** Ten times as long as a thread that does not answer is waited for. */
const SOON = 5000

async function run<T extends object>(scenario: string): Promise<T & { told: string[]; changed: string[][] }> {
  const program = [process.execPath, join(import.meta.dirname, 'silent.mjs'), scenario, scratch()]
  const child = spawn('unshare', ['-rm', ...program], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(code, output).toBe(0)
  return JSON.parse(output)
}

describe.skipIf(!mayUnshare || !isBuilt)('behind a mount (needs unshare -rm and dist)', () => {
  test.each([
    ['interval', 'an event that never came is made up for by the look of the interval'],
    ['polled', 'a silent mount is polled by the same choice as watch() makes'],
  ])('%s: %s', async (scenario) => {
    expect(await run(scenario)).toEqual({ told: ['reload'], changed: [['key']] })
  })

  test('its mount gone, and an empty directory left: said, nothing is done, and nothing when it is back', async () => {
    const { told, during } = await run<{ during: string[] }>('unmounted')
    expect(
      during.every((code) => ['ENOENT', 'ENOTCONN', 'ECONNABORTED'].includes(code)),
      String(during),
    ).toBe(true)
    expect(told).toEqual(during)
  })

  test('a server that has stopped is said, and holds up neither files elsewhere nor close()', async () => {
    const { told, pool, closing } = await run<{ pool: number; closing: number }>('stopped')
    expect(told).toEqual(['ETIMEDOUT'])
    // The server goes on only afterwards: who waits for it waits for ever. The rest is the machine's.
    expect(pool).toBeLessThan(SOON)
    expect(closing).toBeLessThan(SOON)
  })
})
