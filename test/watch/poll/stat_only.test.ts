// Polls of directories in the kubelet's layout: behind FUSE mounts, by stat_only.mjs, which uses dist, and of
// directories on this machine.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, lutimesSync, mkdirSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, type TestContext, test, vi } from 'vitest'
import { atomicWrite } from '../../../examples/kubelet.mjs'
import { Walker } from '../../../src/watch/scan/walker.ts'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'
import { story, watching } from '../support.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../../dist/index.js'))

const GETATTR = 3
/** One pass may be under way when the change is made. A thorough pass comes after 25. */
const FEW = 2
const GLANCED_AT = /by the times of its directory, and all of it every 10 s/

interface Told {
  type: string
  /** The number of passes since the change that asked only for the times of a directory. */
  glances: number
}

interface Polled<T> {
  coverage: string[]
  atRest: T
  swap: Told
}

async function run<T>({ skip, onTestFinished }: TestContext, scenario: string): Promise<T> {
  const program = join(import.meta.dirname, 'stat_only.mjs')
  const base = scratch(undefined, onTestFinished)
  const child = spawn('unshare', ['-rm', process.execPath, program, scenario, base], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(code, output).toBe(0)
  const result: T & { unable?: string } = JSON.parse(output)
  if (result.unable !== undefined) skip(`cannot be mounted here: ${result.unable}`)
  return result
}

describe.skipIf(!mayUnshare || !isBuilt).concurrent('behind FUSE (needs unshare -rm and dist)', () => {
  test.for([['names'], ['recursive'], ['below']] as const)(
    'a ConfigMap at rest costs one request a pass, and a swap is seen: %s',
    async ([scenario], context) => {
      interface Requests {
        intervals: number
        opcodes: number[]
      }
      const { coverage, atRest, swap } = await run<Polled<Requests>>(context, scenario)
      const { intervals, opcodes } = atRest
      expect(coverage.at(-1)).toMatch(GLANCED_AT)
      expect(new Set(opcodes)).toEqual(new Set([GETATTR]))
      // Counts requests against intervals, not by their times: passes are at least an interval apart, and
      // another pass follows a late one.
      expect(opcodes.length).toBeGreaterThan(3)
      expect(opcodes.length).toBeLessThanOrEqual(intervals + 1)
      expect(swap.glances).toBeLessThanOrEqual(FEW)
    },
  )

  test('with hash everything is looked at in each pass', async (context) => {
    const { coverage, atRest, swap } = await run<Polled<number[][]>>(context, 'hash')
    expect(coverage.at(-1)).not.toMatch(GLANCED_AT)
    expect(atRest.map(String)).not.toContain(`${GETATTR}`)
    expect(swap.glances).toBeLessThanOrEqual(FEW)
  })

  test('who edits a generation in place is found out', async (context) => {
    expect(await run<Told>(context, 'inPlace')).toMatchObject({ type: 'modify' })
  })

  test('a file beside the links has everything looked at in each pass', async (context) => {
    const { made, atRest, written } = await run<{ made: Told; atRest: number[][]; written: Told }>(
      context,
      'flat',
    )
    expect([made.type, written.type]).toEqual(['create', 'modify'])
    expect(made.glances).toBeLessThanOrEqual(FEW)
    expect(written.glances).toBe(0)
    expect(atRest.map(String)).not.toContain(`${GETATTR}`)
  })

  test('of two swaps within a tick of the clock the second is seen', async (context) => {
    const { first, second, isOneTick } = await run<{ first: Told; second: Told; isOneTick: boolean }>(
      context,
      'ticks',
    )
    expect(first.glances).toBeLessThanOrEqual(FEW)
    expect(second.glances).toBeLessThanOrEqual(FEW)
    if (!isOneTick) context.skip('it took too long')
  })
})

const LAYOUTS: Array<[name: string, change: (at: (name: string) => string) => void, is: boolean]> = [
  ["as the kubelet's", () => {}, true],
  ['with a link of somebody else', (at) => symlinkSync('nowhere', at('link')), true],
  ['with a file', (at) => writeFileSync(at('file'), ''), false],
  ['with a directory', (at) => mkdirSync(at('directory')), false],
  ['with a second generation', (at) => mkdirSync(at('..2026_01_01')), false],
  ['without ..data', (at) => unlinkSync(at('..data')), false],
  [
    'whose ..data leads elsewhere',
    (at) => {
      unlinkSync(at('..data'))
      symlinkSync('elsewhere', at('..data'))
    },
    false,
  ],
]

test.each(LAYOUTS)('a directory %s: %#', async (_, change, is) => {
  const root = scratch()
  await atomicWrite(root, { key: 'one' })
  change((name) => join(root, name))
  for (const recursive of [false, true]) {
    const { watcher } = await watching(root, { backend: 'poll', interval: 1_000_000, recursive })
    const { why = '' } = watcher.coverage()[0] ?? {}
    expect(GLANCED_AT.test(why)).toBe(is)
  }
})

test('where links are younger than their directory, its times are not believed', async () => {
  const root = scratch()
  await atomicWrite(root, { key: 'one' })
  lutimesSync(join(root, 'key'), 1, Date.now() / 1000 + 1_000_000)
  const { changes } = await watching(root, { backend: 'poll', interval: 20, recursive: true })
  await sleep(3000)
  writeFileSync(join(root, 'key'), 'other')
  const told = () => story(changes, root)
  // This is before the first thorough pass.
  await expect.poll(told, { timeout: 6000 }).toEqual([expect.stringMatching(/^modify file \.\..*key$/)])
})

test('what changes beside one that is at rest is told once, and nobody is woken for more', async () => {
  const [config, flat] = [scratch(), scratch()]
  await atomicWrite(config, { key: 'one' })
  writeFileSync(join(flat, 'file'), '')
  const lingers = vi.spyOn(Walker.prototype, 'pollIdle')
  onTestFinished(() => lingers.mockRestore())
  // On a busy machine a pass may take longer than a shorter interval, which would end the walker's own
  // polling.
  const interval = 100
  const { changes } = await watching([config, flat], { backend: 'poll', interval })
  await sleep(3000)
  const before = lingers.mock.calls.length
  writeFileSync(join(flat, 'file'), 'other')
  await expect.poll(() => story(changes, flat)).toEqual(['modify file file'])
  const passes = 20
  await sleep(passes * interval)
  const calls = lingers.mock.calls.length - before
  expect(calls).toBeGreaterThan(0)
  expect(calls).toBeLessThan(passes / 4)
})
