// Mounts that deliver nothing of what changes behind them, made in a user and mount namespace (no root needed), and what mirror()
// makes of such changes. The changes are made by silent.mjs, which uses dist.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, type TestContext, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { IN_MOVED_TO } from '../../src/inotify/constants.ts'
import { Inotify } from '../../src/inotify/inotify.ts'
import { watch } from '../../src/watch/calls.ts'
import type { Change } from '../../src/watch/report/change.ts'
import { mayUnshare } from '../mounts/namespace.ts'
import { directory, fixture } from './fixture.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../dist/index.js'))
const hasBindfs = spawnSync('bindfs', ['--version']).status === 0

/** silent.mjs's. */
const INTERVAL = 100

/** For conditions that are awaited. */
const PATIENCE = { timeout: 60_000, interval: 5 }

interface Recognised {
  type: string
  local: string
  remote: string
  backend: string
  coverage: string[]
}

interface Seen {
  recognised: Recognised
  onMount: Array<{ event: string; name: string }>
  onTarget: Array<{ event: string; name: string }>
  content: string[]
  skipped: unknown[]
}

interface Swaps extends Seen {
  latencies: number[]
  right: boolean[]
  isStale: boolean
  reader: { reads: number; missing: number; torn: number }
  lost: unknown
}

/** Runs a scenario of silent.mjs in a namespace of its own, which goes with it. */
async function run<T = Seen>({ skip }: TestContext, scenario: string, argument = ''): Promise<T> {
  const child = spawn(
    'unshare',
    ['-rm', process.execPath, join(import.meta.dirname, 'silent.mjs'), scenario, directory(), argument],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(code, output).toBe(0)
  const result: T & { unable?: string } = JSON.parse(output)
  if (result.unable !== undefined) skip(`cannot be mounted here: ${result.unable}`)
  return result
}

const named = (events: Seen['onTarget'], name: string) =>
  events.filter((event) => event.name === name).map(({ event }) => event)

describe.skipIf(!mayUnshare || !isBuilt)('behind a mount (needs unshare -rm and dist)', () => {
  /** @param remembered whether the kernel answers from what it has been told before the swap */
  async function fiveSwaps(context: TestContext, server: string, remembered: boolean) {
    const seen = await run<Swaps>(context, 'swaps', server)
    console.log(`  ${server}: IN_MOVED_TO ..data ${seen.latencies.join(', ')} ms after the swap began`)
    expect(seen.recognised).toEqual({
      type: expect.stringMatching(/^fuse(\.|$)/),
      local: 'delivered',
      remote: 'silent',
      backend: 'inotify+poll',
      coverage: ['inotify+poll'],
    })
    expect(seen.onMount, 'events on the mount itself').toEqual([])
    expect(named(seen.onTarget, '..data')).toEqual(Array(5).fill('IN_MOVED_TO'))
    expect(seen.right, 'the content in each event').toEqual(Array(5).fill(true))
    expect(seen.isStale, 'a plain readlink(2) after a swap').toBe(remembered)
    expect(seen.reader).toMatchObject({ missing: 0, torn: 0 })
    expect(seen.reader.reads).toBeGreaterThan(100)
    // The quickest of the five: the others may have waited for a processor.
    expect(Math.min(...seen.latencies)).toBeLessThanOrEqual(INTERVAL + 50)
    expect(Math.max(...seen.latencies)).toBeLessThan(INTERVAL + 1000)
    expect(seen.lost, 'the server killed, its mount removed, and served again').toEqual({
      state: 'source-lost',
      // ECONNABORTED: a request was under way.
      reason: expect.stringMatching(/ENOTCONN|ECONNABORTED/),
      kept: true,
      unmounted: { state: 'source-lost', kept: true },
      resumed: true,
    })
  }

  test.skipIf(!hasBindfs)("a swap behind bindfs is the target's IN_MOVED_TO (needs bindfs)", (context) =>
    fiveSwaps(context, 'bindfs', false),
  )

  // An hour: without the forced look-up in src/mounts/syscalls/directory_handle.ts nothing would come before that.
  test('so is one behind a FUSE mount whose kernel remembers names for an hour', (context) =>
    fiveSwaps(context, '3600', true))

  test('flat files behind that: in place with the times put back, renamed over, new, removed', async (context) => {
    const { onMount, onTarget, content } = await run(context, 'flat', '3600')
    expect(onMount).toEqual([])
    expect(content).toEqual(['two', 'two', 'two'])
    for (const name of ['in-place', 'over', 'new']) expect(named(onTarget, name)).toEqual(['IN_MOVED_TO'])
    expect(named(onTarget, 'goes')).toEqual(['IN_DELETE'])
  })

  test('a source made anew behind that, while the old one lives on elsewhere', async (context) => {
    const { onTarget, content } = await run(context, 'anew', '3600')
    expect(content).toEqual(['two'])
    expect(named(onTarget, 'key')).toEqual(['IN_MOVED_TO'])
  })

  test("flat files in an overlay's lower: what overlay shows arrives, what it cannot is said", async (context) => {
    const { recognised, onMount, onTarget, content, skipped } = await run(context, 'overlay')
    // Its own changes are delivered and others are rare: mirror() is for who knows that there are some.
    expect(recognised).toMatchObject({ type: 'overlay', remote: 'silent', backend: 'inotify' })
    expect(onMount).toEqual([])
    for (const name of ['in-place', 'new', '..data']) expect(named(onTarget, name)).toContain('IN_MOVED_TO')
    expect(named(onTarget, 'over')).toEqual([])
    expect(content).toEqual(['two', 'two', 'one', 'two'])
    expect(skipped).toEqual([{ path: 'over', reason: expect.stringContaining('behind the mount') }])
  })

  // Overlay goes on showing the old `..data`, and not the directory that it names: see STALE in src/mirror/source/snapshot.ts.
  test("a swap in an overlay's lower leaves the last good version, whole, and is said", async (context) => {
    const { onTarget, content, skipped } = await run(context, 'overlaySwap')
    expect(onTarget).toEqual([])
    expect(content).toEqual(['one', 'one'])
    expect(skipped).toEqual([{ path: '..data', reason: expect.stringContaining('behind the mount') }])
  })
})

test('a directory that is polled because it was asked for', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { key: 'one' })
  await using watcher = watch(source, { backend: 'poll', interval: 60_000 })
  await watcher.ready
  expect(watcher.coverage()).toMatchObject([{ path: source, backend: 'poll' }])
  const changes: Change[] = []
  watcher.on('changes', (reported) => changes.push(...reported))

  await start({ interval: 20 })
  using inotify = new Inotify()
  inotify.add(target, IN_MOVED_TO)
  const arrived: string[] = []
  inotify.on('events', (batch) => {
    for (const { name } of batch) arrived.push(name)
  })
  await atomicWrite(source, { key: 'two' })
  writeFileSync(join(source, 'flat'), 'two')
  await vi.waitFor(() => expect(arrived).toEqual(expect.arrayContaining(['..data', 'flat'])), PATIENCE)
  await watcher.sync()
  await vi.waitFor(() => expect(changes.map(({ path }) => path)).toContain(join(source, '..data')), PATIENCE)
  expect(changes.filter((change) => change.source !== 'poll')).toEqual([])
})
