import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Coverage, watch } from '../../../src/index.ts'
import { PollBudget } from '../../../src/watch/poll/poll_budget.ts'
import { PollRound } from '../../../src/watch/poll/poll_round.ts'
import { PollScope } from '../../../src/watch/poll/poll_scope.ts'
import { Walker } from '../../../src/watch/scan/walker.ts'
import { Directory, WatchedMount } from '../../../src/watch/tree/directory.ts'
import { scratch } from '../../support/scratch.ts'
import { AppliedAlone } from '../applied_alone.ts'
import { contentsOf, divergences, snapshot } from '../model/world/snapshot.ts'
import { randomFrom } from '../support.ts'

const isThere = () => true

/** Plays polls of directories with so many entries each, `hot` of which change all the time, and returns what was looked at when. */
function play(options: {
  entries: readonly number[]
  hot?: number
  requests?: number
  cpu?: number
  /** ms of a core for each entry. */
  cpuPerEntry?: number
  /** ms from a poll to the next. */
  interval?: number
  seconds: number
}) {
  const { entries, hot = 0, cpuPerEntry = 0, interval = 250, seconds } = options
  const { requests = Number.POSITIVE_INFINITY, cpu = Number.POSITIVE_INFINITY } = options
  const mount = new WatchedMount({ backend: 'poll', why: '' })
  const directories = entries.map((_, i) => new Directory(String(i), i, mount))
  const round = new PollRound(new PollBudget({ cpu, requests }, false, 0))
  const looks = new Map(directories.map((each) => [each, [] as number[]]))
  const spent: Array<{ at: number; calls: number; cpu: number }> = []
  const longest: number[] = []
  for (let at = 0; at < seconds * 1000; at += interval) {
    if (round.isOver) round.begin(directories, at)
    longest.push(round.longest(directories.length, interval))
    const looked = new Map(round.next(at, isThere).map((each) => [each, entries[each.ino] as number]))
    for (const each of looked.keys()) looks.get(each)?.push(at)
    const found = [...looked.values()].reduce((sum, each) => sum + each, 0)
    spent.push({ at, calls: looked.size * 8 + found * 2, cpu: found * cpuPerEntry })
    round.note(looked, 0, found * cpuPerEntry)
    for (const each of looked.keys()) if (each.ino < hot) round.heat(each, at)
  }
  const gaps = directories.map((each) => {
    const times = looks.get(each) as number[]
    return Math.max(...times.slice(1).map((time, i) => time - (times[i] as number)), times[0] as number)
  })
  return { spent, gaps, longest, looks: directories.map((each) => looks.get(each) as number[]) }
}

const small = Array<number>(1000).fill(10)

test.each([
  ['small directories', { entries: small, requests: 500 }],
  ['some that change', { entries: small, requests: 500, hot: 20 }],
  ['one of a thousand entries', { entries: [...small, 1000], requests: 500, hot: 1 }],
  ['a root of five thousand, looked at first', { entries: [5000, ...small], requests: 500 }],
  ['a processor', { entries: small, cpu: 0.05, cpuPerEntry: 0.01 }],
  ['both', { entries: small, cpu: 0.01, requests: 5000, cpuPerEntry: 0.1, hot: 5 }],
])('the budget is kept, and each directory has its turn in time: %s', (_, options) => {
  const { spent, gaps, longest } = play({ ...options, seconds: 600 })
  const { requests = Number.POSITIVE_INFINITY, cpu = Number.POSITIVE_INFINITY } = options as {
    requests?: number
    cpu?: number
  }
  for (const length of [60, 600]) {
    for (let from = 0; from < 600; from += length) {
      const within = spent.filter(({ at }) => at >= from * 1000 && at < (from + length) * 1000)
      const calls = within.reduce((sum, each) => sum + each.calls, 0)
      const used = within.reduce((sum, each) => sum + each.cpu, 0)
      // What was saved up before, and the last look that was begun.
      expect(calls).toBeLessThanOrEqual(requests * (length + 1) + 8 + 2 * Math.max(...options.entries))
      expect(used).toBeLessThanOrEqual(cpu * 1000 * (length + 1) + 100)
    }
  }
  const bound = Math.max(...longest.slice(longest.length / 2)) + 250
  expect(Math.max(...gaps)).toBeLessThanOrEqual(bound)
  // Nor does it frighten people.
  expect(bound).toBeLessThan(4 * Math.max(...gaps))
})

test('the latency is right from the first round on, also where polls are far apart', () => {
  const { gaps, longest } = play({ entries: small, requests: 500, interval: 5000, seconds: 2000 })
  expect(Math.max(...gaps)).toBeLessThanOrEqual((longest[2] as number) + 5000)
  // Nobody has looked at anything yet: a directory takes 8 calls at least.
  expect(new PollRound(new PollBudget({ cpu: 1, requests: 5 }, false, 0)).longest(200, 100)).toBe(
    (2 * 200 * 8 * 1000) / 5,
  )
  // A root with many entries says little of the others.
  const [cheap, dear] = [10, 1000].map((count) => {
    const budget = new PollBudget({ cpu: Number.POSITIVE_INFINITY, requests: 1000 }, false, 0)
    budget.spend('turn', count, 0)
    for (let i = 0; i < 19; i++) budget.spend('turn', 10, 0)
    return budget.perDirectory
  }) as [number, number]
  expect(dear).toBeCloseTo(cheap + (2 * 990) / 20)
})

test('directories that have changed are looked at more often than others, and a minute later no more', () => {
  const { looks } = play({ entries: small, requests: 500, hot: 3, seconds: 200 })
  const [hot = [], cold = []] = [looks[1], looks[500]]
  expect(hot.length).toBeGreaterThan(550)
  expect(cold.length).toBeLessThan(15)
  const round = new PollRound(new PollBudget({ cpu: 1, requests: 500 }, false, 0))
  const directory = new Directory('/r', 1, new WatchedMount({ backend: 'poll', why: '' }))
  round.begin([], 0)
  round.heat(directory, 1000)
  expect(round.next(2000, isThere)).toEqual([directory])
  expect(round.next(62_000, isThere)).toEqual([])
})

test('many that change take half of the budget', () => {
  const { gaps, looks } = play({ entries: small, requests: 500, hot: 500, seconds: 600 })
  expect(Math.max(...gaps.slice(500))).toBeLessThan(2 * ((1000 * 28) / 500) * 1000 + 5000)
  expect(looks.slice(0, 500).flat().length).toBeGreaterThan((600 * 500) / 28 / 2)
})

test('a directory that costs all that changed ones may spend does not keep others waiting', () => {
  const { looks } = play({ entries: [100_000, ...small], requests: 20_000, hot: 2, seconds: 60 })
  const [large = [], hot = []] = looks
  const gaps = hot.slice(1).map((time, i) => time - (hot[i] as number))
  expect(large.length).toBeGreaterThan(1)
  expect(Math.max(...gaps.slice(1))).toBe(250)
})

test('directories that have gone have no turn', () => {
  const all = small.map((_, i) => new Directory(String(i), i, new WatchedMount({ backend: 'poll', why: '' })))
  const round = new PollRound(new PollBudget({ cpu: 1, requests: 500 }, false, 0))
  round.begin(all, 0)
  expect(round.next(1000, (each) => each === all[999])).toEqual([all[999]])
  expect(round.isOver).toBe(true)
})

test('polls do not each go through all directories that lack a watch', async () => {
  const root = scratch()
  for (let i = 0; i < 10; i++) mkdirSync(join(root, `d${i}`))
  const all = vi.spyOn(PollScope.prototype, 'directories')
  onTestFinished(() => all.mockRestore())
  const options = { interval: 10, maxWatches: 1, pollBudget: { requests: 10_000 } }
  const watcher = watch(root, { recursive: true, ...options })
  onTestFinished(() => watcher.close())
  const changed = new Promise((resolve) => watcher.on('changes', resolve).on('error', () => {}))
  await watcher.ready
  writeFileSync(join(root, 'd7/f'), '')
  await changed
  expect(watcher.coverage()[0]?.latency).toBeGreaterThan(0)
  expect(all).not.toHaveBeenCalled()
})

test('a look at what has gone, or fails, is paid for as well', async () => {
  const root = scratch()
  for (let i = 0; i < 1000; i++) mkdirSync(join(root, `a/b/c${i % 20}/d${i}`), { recursive: true })
  const walk = vi.spyOn(Walker.prototype, 'walk')
  onTestFinished(() => walk.mockRestore())
  const looks = () => walk.mock.calls.flatMap(([asked]) => asked.filter(({ compare }) => compare === false))
  const options = { interval: 10, pollBudget: { requests: 1000 } }
  const watcher = watch(root, { recursive: true, backend: 'poll', ...options })
  onTestFinished(() => watcher.close())
  await watcher.ready
  // Then it is the root's turn a round later.
  await vi.waitFor(() => expect(looks().length).toBeGreaterThan(5), { interval: 1, timeout: 20_000 })
  renameSync(join(root, 'a'), join(scratch(), 'a'))
  const [before, begun] = [looks().length, performance.now()]
  await vi.waitFor(() => expect(looks().length).toBeGreaterThan(before + 300), {
    timeout: 20_000,
    interval: 1,
  })
  // 8 calls each, and a second's may have been saved up.
  expect(performance.now() - begun).toBeGreaterThan(300 * 8 - 1000)
})

async function budgeted(root: string, requests: number) {
  const watcher = watch(root, { recursive: true, backend: 'poll', interval: 20, pollBudget: { requests } })
  onTestFinished(() => watcher.close())
  const applied = new AppliedAlone(root)
  await watcher.ready
  applied.adopt(contentsOf(snapshot(root)))
  const misfits: string[] = []
  watcher.on('changes', (changes) => {
    for (const change of changes) misfits.push(...[applied.misfit(change) ?? []].flat())
  })
  return { watcher, applied, misfits }
}

test('whatever is done is told within the latency, without a sync()', async () => {
  const random = randomFrom(9)
  const root = scratch()
  for (let d = 0; d < 60; d++) {
    mkdirSync(join(root, `d${d}/e`), { recursive: true })
    for (let f = 0; f < 5; f++) writeFileSync(join(root, `d${d}`, `f${f}`), 'x')
  }
  const { watcher, applied, misfits } = await budgeted(root, 4000)
  for (let i = 0; i < 300; i++) {
    const [a, b] = [random(60), random(60)]
    const file = join(root, `d${a}`, `f${random(5)}`)
    const actions = [
      () => writeFileSync(file, 'y'.repeat(random(100))),
      () => rmSync(file, { force: true }),
      () => renameSync(join(root, `d${a}/e`), join(root, `d${b}/e${i}`)),
      () => mkdirSync(join(root, `d${a}/e/n${i}/m`), { recursive: true }),
      () => writeFileSync(join(root, `d${a}/e/n${i}`), 'z'),
      () => renameSync(file, join(root, `d${b}/g${i}`)),
      () => rmSync(join(root, `d${a}/e`), { recursive: true, force: true }),
    ]
    try {
      actions[random(actions.length)]?.()
    } catch {
      // What it takes has gone.
    }
    if (random(20) === 0) await new Promise((resolve) => setTimeout(resolve, random(60)))
  }
  const [{ latency }] = watcher.coverage() as [Coverage]
  expect(latency).toBeGreaterThan(100)
  expect(latency).toBeLessThan(10_000)
  await vi.waitFor(() => expect(divergences(applied.entries, snapshot(root))).toEqual([]), {
    timeout: 5 * (latency as number),
    interval: 20,
  })
  expect(misfits).toEqual([])
})
