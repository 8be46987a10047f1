import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type WatchOptions, watch } from '../../../src/index.ts'
import { watchesIn } from '../../../src/inotify/fdinfo.ts'
import { inotifyLimits } from '../../../src/inotify/limits.ts'
import { CLOCK_SLACK_MS } from '../../../src/watch/clock.ts'
import { Walker } from '../../../src/watch/scan/walker.ts'
import { scratch } from '../../support/scratch.ts'

/** Makes d0, d1, ... with e below each, and a file in that. */
function plant(count: number): string {
  const root = scratch()
  for (let i = 0; i < count; i++) {
    mkdirSync(join(root, `d${i}/e`), { recursive: true })
    writeFileSync(join(root, `d${i}/e/f`), 'x')
  }
  return root
}

/** The number of watches that this process has. */
function inKernel(): number {
  const directory = '/proc/self/fdinfo'
  const texts = readdirSync(directory).map((fd) => {
    try {
      return readFileSync(join(directory, fd), 'latin1')
    } catch {
      return ''
    }
  })
  return new Set(texts.flatMap((text) => watchesIn(text))).size
}

async function watching(root: string, options: WatchOptions) {
  const watcher = watch(root, { recursive: true, interval: 20, settle: 0, ...options })
  onTestFinished(() => watcher.close())
  const errors: Error[] = []
  const told: string[] = []
  watcher.on('error', (error) => void errors.push(error))
  watcher.on('changes', (changes) => {
    for (const { type, path, source } of changes)
      told.push(`${source} ${type} ${path.slice(root.length + 1)}`)
  })
  await watcher.ready
  const uncovered = () => {
    const [row] = watcher.coverage()
    return row?.uncovered.map(({ path }) => path.slice(root.length + 1)).sort() ?? []
  }
  return { watcher, errors, told, uncovered }
}

test('those nearest to the root get the watches, and the others are polled', async () => {
  const root = plant(10)
  const { watcher, errors, told, uncovered } = await watching(root, { maxWatches: 11 })
  expect(uncovered()).toEqual(Array.from({ length: 10 }, (_, i) => `d${i}/e`))
  expect(errors.map(({ message }) => message)).toEqual([
    expect.stringMatching(/ENOSPC.*maxWatches allows 11/),
  ])
  writeFileSync(join(root, 'd3/e/f'), 'other')
  mkdirSync(join(root, 'd3/near'))
  await watcher.sync()
  expect(told.sort()).toEqual(['inotify create d3/near', 'poll modify d3/e/f'])
  const [row] = watcher.coverage()
  expect(row?.latency).toBeGreaterThan(0)
  // A new directory has none either, and nothing more is said.
  expect(uncovered()).toContain('d3/near')
  writeFileSync(join(root, 'd3/near/file'), '')
  await watcher.sync()
  expect(told).toContain('poll create d3/near/file')
  expect(errors.length).toBe(1)
})

test('a file that was written just before the watch is not told', async () => {
  const root = plant(10)
  const { watcher, told, errors } = await watching(root, { maxWatches: 3 })
  for (let i = 0; i < 5; i++) {
    mkdirSync(join(root, `new${i}/e`), { recursive: true })
    writeFileSync(join(root, `new${i}/e/f`), 'x')
    await watcher.sync()
  }
  expect(told.filter((line) => !line.includes(' create '))).toEqual([])
  await watcher.sync()
  expect(told.filter((line) => !line.includes(' create '))).toEqual([])
  expect(errors.length).toBe(1)
})

test('some of a level get a watch if not all can', async () => {
  const { uncovered } = await watching(plant(10), { maxWatches: 6 })
  const all = uncovered()
  expect(all.filter((path) => !path.includes('/')).length).toBe(5)
  expect(all.filter((path) => path.includes('/')).length).toBe(10)
})

test('a directory that goes leaves its watch to another', async () => {
  const root = plant(3)
  const { watcher, uncovered } = await watching(root, { maxWatches: 4 })
  rmSync(join(root, 'd0'), { recursive: true })
  await watcher.sync()
  mkdirSync(join(root, 'late'))
  await watcher.sync()
  expect(uncovered().length).toBe(2)
})

test('the limit is told once, however often it is reached', async () => {
  const root = plant(3)
  const { watcher, errors, uncovered } = await watching(root, { maxWatches: 7 })
  expect(errors.length).toBe(0)
  for (let i = 0; i < 3; i++) {
    for (const each of i === 0 ? ['d0', 'd1'] : [`new${i - 1}-0`, `new${i - 1}-1`])
      rmSync(join(root, each), { recursive: true })
    await watcher.sync()
    mkdirSync(join(root, `new${i}-0`))
    await watcher.sync()
    for (let j = 1; j < 6; j++) mkdirSync(join(root, `new${i}-${j}`))
    await watcher.sync()
    expect(uncovered().length).toBeGreaterThan(0)
  }
  expect(errors.length).toBe(1)
})

test("with backend 'inotify' the others are not watched", async () => {
  const root = plant(3)
  const { watcher, told, uncovered } = await watching(root, { maxWatches: 4, backend: 'inotify' })
  writeFileSync(join(root, 'd1/e/f'), 'other')
  mkdirSync(join(root, 'd1/near'))
  await watcher.sync()
  expect(told).toEqual(['inotify create d1/near'])
  expect(uncovered()).toEqual(['d0/e', 'd1/e', 'd1/near', 'd2/e'])
})

test('below 1 it is a share of what is left', async () => {
  const { maxUserWatches, watchesInUse } = inotifyLimits()
  const share = 4.5 / (maxUserWatches - watchesInUse)
  expect((await watching(plant(3), { maxWatches: share })).uncovered()).toEqual(['d0/e', 'd1/e', 'd2/e'])
})

test.each([[undefined], [{ requests: 10_000 }]])(
  'a directory that changes gets the watch of one that has been quiet for a minute: pollBudget %j',
  async (pollBudget) => {
    const root = plant(5)
    const now = performance.now.bind(performance)
    let passed = 0
    const spy = vi.spyOn(performance, 'now').mockImplementation(() => now() + passed)
    onTestFinished(() => spy.mockRestore())
    const options = pollBudget === undefined ? {} : { pollBudget }
    const { told, uncovered, watcher } = await watching(root, { maxWatches: 7, ...options })
    const change = async (path: string, content: string) => {
      told.length = 0
      // One write: a poll between truncation and write would see two.
      appendFileSync(join(root, path), content)
      await vi.waitFor(() => expect(told.join()).toContain(path), { timeout: 60_000 })
      return told[0]?.split(' ')[0]
    }
    const before = uncovered()
    expect(before.length).toBe(4)
    const most = inKernel()
    const { walk } = Walker.prototype
    const adding = vi.spyOn(Walker.prototype, 'walk').mockImplementation(function (this: Walker, ...args) {
      expect(inKernel() + args[0].filter((each) => each.watch).length).toBeLessThanOrEqual(most)
      return walk.apply(this, args)
    })
    onTestFinished(() => adding.mockRestore())
    const [cold = ''] = before
    // Nobody knows yet who is quiet.
    expect(await change(`${cold}/f`, 'one')).toBe('poll')
    expect(uncovered()).toEqual(before)
    const deep = ['d0/e', 'd1/e', 'd2/e', 'd3/e', 'd4/e'].filter((path) => !before.includes(path))
    expect(await change(`${deep[0]}/f`, 'told by its event')).toBe('inotify')
    // What is as old as a minute by the clock of this test is older than the slack of a filesystem's clock.
    await new Promise((resolve) => setTimeout(resolve, 2 * CLOCK_SLACK_MS + 20))
    for (let i = 0; i < 2; i++) {
      passed += 61_000
      await change('at the top', String(i))
    }
    expect(await change(`${cold}/f`, 'two more')).toBe('poll')
    await vi.waitFor(() => expect(uncovered()).not.toContain(cold), { timeout: 60_000 })
    await watcher.sync()
    // Nothing is told twice as it is polled from now on.
    expect(told.filter((each) => each.includes(`${deep[0]}/f`))).toEqual([])
    // The quiet one that is farthest from the root has given its watch.
    expect(uncovered()).toEqual([...before.slice(1), ...deep].sort())
    expect(await change(`${cold}/f`, 'and again')).toBe('inotify')
    expect(await change(`${deep[0]}/f`, 'polled now')).toBe('poll')
    await watcher.sync()
    expect(told.length).toBe(1)
  },
)
