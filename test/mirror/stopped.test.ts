// A FUSE server that does not answer for 3 s: what a process that mirrors from it can still do. stopped.mjs uses dist.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { mayUnshare } from '../mounts/namespace.ts'
import { directory } from './fixture.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../dist/index.js'))

/** For how long the server does not answer in the first of the scenarios (stopped.mjs); in the others it never does again. */
const STOPPED = 3000
/** Ten times as long as a thread that does not answer is waited for: the rest is the machine's. */
const SOON = 5000

/** Runs a scenario; how long (ms) the process took to end behind its last output is `ending`. */
async function run<T>(scenario: string): Promise<T & { ending: number }> {
  const program = [process.execPath, join(import.meta.dirname, 'stopped.mjs'), scenario, directory()]
  const child = spawn('unshare', ['-rm', ...program], { stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = 0
  child.stdout.on('data', () => {
    said = performance.now()
  })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(code, output).toBe(0)
  return { ...JSON.parse(output), ending: performance.now() - said }
}

describe.skipIf(!mayUnshare || !isBuilt)('a server that has stopped (needs unshare -rm and dist)', () => {
  test('holds up nothing else, and what it had to tell is told when it goes on', async () => {
    interface Resumed {
      stall: number
      pool: number
      watched: number
      mirrored: number
      turns: number
      early: string
      changed: string[]
      after: number
      content: string
      types: string[]
      states: string[]
    }
    const seen = await run<Resumed>('resumed')
    const { stall, pool, watched, mirrored, turns, after } = seen
    const figures = { stall, pool, watched, mirrored, after }
    console.log(
      `  ${turns} turns; ms at most: ${JSON.stringify(figures, (_, value) => (typeof value === 'number' ? Math.round(value) : value))}`,
    )
    // A call to the server waits for as long as the server is stopped. test/guest asserts how much shorter the stalls are, beside a thread
    // that does nothing: on a shared machine that thread has stalls as well.
    expect(stall, "the event loop's longest stall").toBeLessThan(STOPPED / 2)
    expect(pool, "reading by libuv's pool").toBeLessThan(STOPPED / 2)
    expect(watched, 'a watch()').toBeLessThan(STOPPED / 2)
    expect(mirrored, 'another mirror').toBeLessThan(STOPPED / 2)
    expect(turns).toBeGreaterThan(5)
    expect(seen).toMatchObject({ early: 'one', changed: ['key'], content: 'two' })
    expect(seen.types, 'five watchers of the file').toEqual(Array(5).fill('modify'))
    expect(after).toBeLessThan(SOON)
  })

  test('does not hold up close(), which says what is left behind, nor the end of the process', async () => {
    interface Closed {
      took: number
      code: string
      message: string
      ofWatch: { code: string; message: string }
      isThere: boolean
    }
    const { took, code, message, ofWatch, isThere, ending } = await run<Closed>('closed')
    expect(took).toBeLessThan(SOON)
    expect(code).toBe('INOTIFY_BRIDGE_LEFT_BEHIND')
    expect(message).toMatch(/front has not answered for/)
    expect(ofWatch).toEqual({ code, message: expect.stringMatching(/front has not answered for/) })
    expect(isThere, 'the target').toBe(false)
    expect(ending).toBeLessThan(SOON)
  })

  test('does not keep a command that is starting from ending by a signal', async () => {
    const seen = await run<{ took: number; code: number; signal: string; isThere: boolean }>('starting')
    expect(seen).toMatchObject({ code: 0, signal: null, isThere: false })
    expect(seen.took).toBeLessThan(SOON)
  })
})
