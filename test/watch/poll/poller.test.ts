import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Change } from '../../../src/index.ts'
import { Walker } from '../../../src/watch/scan/walker.ts'
import { scratch } from '../../support/scratch.ts'
import { AppliedAlone } from '../applied_alone.ts'
import { contentsOf, divergences, snapshot } from '../model/world/snapshot.ts'
import { untilPast } from '../regressions/losing.ts'
import { RENAME_EXCHANGE, randomFrom, renameWith, story, watching } from '../support.ts'

// Only sync() polls.
const BY_HAND = { backend: 'poll', interval: 1_000_000 } as const

/** Returns the number of directories that polls have handed to JavaScript since the last call. */
function listings(): () => number {
  let count = 0
  const { walk } = Walker.prototype
  const spy = vi.spyOn(Walker.prototype, 'walk').mockImplementation(function (
    this: Walker,
    requests,
    take,
    ...more
  ) {
    const isPoll = requests.some(({ compare }) => compare)
    const counting: typeof take = (listing) => {
      if (isPoll) count++
      take(listing)
    }
    return walk.call(this, requests, counting, ...more)
  })
  onTestFinished(() => spy.mockRestore())
  return () => {
    const counted = count
    count = 0
    return counted
  }
}

function makeTree(root: string): void {
  for (let i = 0; i < 10; i++) {
    mkdirSync(join(root, `d${i}/e/f`), { recursive: true })
    for (const path of ['1', 'e/2', 'e/f/3']) writeFileSync(join(root, `d${i}`, path), 'x')
  }
}

test('a pass over what has not changed is told of nothing, and one over what has of little else', async () => {
  const counted = listings()
  const root = scratch()
  makeTree(root)
  const { told } = await watching(root, { ...BY_HAND, recursive: true })
  await told()
  expect(counted()).toBe(31)
  expect(await told()).toEqual([])
  expect(counted()).toBe(0)
  appendFileSync(join(root, 'd3/e/2'), 'y')
  expect(story(await told(), root)).toEqual(['modify file d3/e/2'])
  expect(counted()).toBe(3)
  renameSync(join(root, 'd3/1'), join(root, 'd7/e/f/1'))
  expect(story(await told(), root)).toEqual(['rename file d3/1 d7/e/f/1'])
  expect(counted()).toBe(5)
  expect([await told(), counted()]).toEqual([[], 0])
})

test('where a directory has come, gone or moved, all are told of', async () => {
  const counted = listings()
  const root = scratch()
  makeTree(root)
  const { told } = await watching(root, { ...BY_HAND, recursive: true })
  await told()
  renameSync(join(root, 'd3/e'), join(root, 'd4/moved'))
  expect(story(await told(), root)).toEqual(['rename directory d3/e d4/moved'])
  expect(counted()).toBeGreaterThan(31)
  expect([await told(), counted()]).toEqual([[], 0])
})

test('a directory whose times alone have changed is known by them when it moves', async () => {
  const root = scratch()
  makeTree(root)
  const { told } = await watching(root, { ...BY_HAND, recursive: true })
  await told()
  utimesSync(join(root, 'd3/e'), 1, 2)
  expect(await told()).toEqual([])
  chmodSync(join(root, 'd3/e/f'), 0o711)
  expect(story(await told(), root)).toEqual(['attrib directory d3/e/f'])
  renameSync(join(root, 'd3/e'), join(root, 'd4/moved'))
  expect(story(await told(), root)).toEqual(['rename directory d3/e d4/moved'])
})

test('what an event has told is not what the last poll has found: the next is told of everything', async () => {
  const counted = listings()
  const root = scratch()
  makeTree(root)
  const both = { choose: async () => ({ backend: 'inotify+poll' as const, why: 'a test' }) }
  const { told } = await watching(root, { interval: 1_000_000, recursive: true }, both)
  await told()
  await told()
  counted()
  expect([await told(), counted()]).toEqual([[], 0])
  appendFileSync(join(root, 'd3/e/2'), 'y')
  expect(story(await told(), root)).toEqual(['modify file d3/e/2'])
  expect(counted()).toBeGreaterThanOrEqual(31)
})

test('paths that come and go: nothing is known of what was not polled with them', async () => {
  const [root, other] = [scratch(), scratch()]
  makeTree(root)
  writeFileSync(join(other, 'a'), '')
  const { watcher, told } = await watching(root, { ...BY_HAND, recursive: true })
  await told()
  await watcher.add(other)
  expect(await told()).toEqual([])
  appendFileSync(join(other, 'a'), 'y')
  expect(story(await told(), other)).toEqual(['modify file a'])
  await watcher.remove(root)
  appendFileSync(join(root, 'd1/1'), 'y')
  expect(await told()).toEqual([])
  await watcher.add(root)
  expect(await told()).toEqual([])
  rmSync(join(root, 'd1/1'))
  expect(story(await told(), root)).toEqual(['delete file d1/1'])
})

test('what changes while nobody asks is told, and what is quiet wakes nobody up', async () => {
  const counted = listings()
  const root = scratch()
  makeTree(root)
  const lingers = vi.spyOn(Walker.prototype, 'pollIdle')
  onTestFinished(() => lingers.mockRestore())
  const { changes, told, watcher } = await watching(root, { backend: 'poll', interval: 5, recursive: true })
  // On a busy machine a pass may take longer than the interval. Another call follows then.
  await expect.poll(() => lingers.mock.calls.length).toBeGreaterThan(0)
  const walked = counted()
  for (let i = 0; i < 20; i++) {
    appendFileSync(join(root, 'd1/1'), 'y')
    await expect.poll(() => changes.length, { interval: 1 }).toBe(1)
    expect(story(changes.splice(0), root)).toEqual(['modify file d1/1'])
    if (i % 5 === 0) expect(await told()).toEqual([])
  }
  expect(walked).toBe(31)
  // The walker passes without JavaScript: JavaScript calls it again only after a late pass.
  const wakeups = async () => {
    const before = lingers.mock.calls.length
    await new Promise((resolve) => setTimeout(resolve, 50))
    return lingers.mock.calls.length - before
  }
  await expect.poll(wakeups).toBe(0)
  expect(lingers.mock.calls.length).toBeGreaterThan(1)
  // A missing path is looked for by JavaScript.
  await watcher.add(join(root, 'absent'))
  writeFileSync(join(root, 'absent'), '')
  await expect.poll(() => story(changes.splice(0), root)).toContain('restored absent')
})

test('a poll that takes longer than it should is said', async () => {
  const root = scratch('/dev/shm')
  for (let i = 0; i < 1000; i++) mkdirSync(join(root, `${i}/d`), { recursive: true })
  const warnings: Error[] = []
  const listener = (warning: Error) => warnings.push(warning)
  process.on('warning', listener)
  onTestFinished(() => void process.off('warning', listener))
  const { watcher } = await watching(root, { backend: 'poll', interval: 1, recursive: true })
  const why = () => watcher.coverage()[0]?.why
  await expect.poll(why).toMatch(/; polled every 1 ms: the last pass took \d+ ms$/)
  await expect
    .poll(() => warnings)
    .toMatchObject([{ name: 'InotifyBridgeWarning', code: 'INOTIFY_BRIDGE_SLOW_POLL' }])
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(warnings).toHaveLength(1)
})

test('a root that is replaced is lost and restored', async () => {
  const base = scratch()
  const root = join(base, 'root')
  mkdirSync(root)
  makeTree(root)
  const { told } = await watching(root, { ...BY_HAND, recursive: true })
  await told()
  renameSync(root, join(base, 'old'))
  mkdirSync(root)
  writeFileSync(join(root, 'new'), '')
  const lines = story(await told(), root)
  expect(lines.slice(0, 2)).toEqual(['lost .', 'restored .'])
  expect(lines).toContain('create file new')
  expect(await told()).toEqual([])
})

test('a root that goes while nobody asks is lost, and restored when it is back', async () => {
  const lingers = vi.spyOn(Walker.prototype, 'pollIdle')
  onTestFinished(() => lingers.mockRestore())
  const base = scratch()
  const root = join(base, 'root')
  makeTree(root)
  // A file that was written shortly before the watch began may or may not be told when the root is back.
  await untilPast(join(root, 'd9/e/f/3'))
  const { changes } = await watching(root, { backend: 'poll', interval: 5, recursive: true })
  // On a busy machine a pass may take longer than the interval. Another call follows then.
  await expect.poll(() => lingers.mock.calls.length).toBeGreaterThan(0)
  renameSync(root, join(base, 'elsewhere'))
  await expect.poll(() => story(changes.splice(0), root)).toEqual(['lost .'])
  renameSync(join(base, 'elsewhere'), root)
  await expect.poll(() => story(changes.splice(0), root)).toEqual(['restored .'])
})

test.each([['recursive', true] as const, ['flat', false] as const])(
  'random operations, %s: what is told is what a watcher tells that is told of everything',
  async (_, recursive) => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
    const random = randomFrom(seed)
    const root = scratch()
    makeTree(root)
    let knowsNothing = false
    const { commit } = Walker.prototype
    const spy = vi.spyOn(Walker.prototype, 'commit').mockImplementation(function (this: Walker) {
      if (knowsNothing) this.forget()
      else commit.call(this)
    })
    onTestFinished(() => spy.mockRestore())
    const options = { ...BY_HAND, recursive }
    const believed = new AppliedAlone(root).adopt(contentsOf(snapshot(root)))
    const [some, all] = [await watching(root, options), await watching(root, options)]
    for (let round = 0; round < 150; round++) {
      const done: string[] = []
      for (let i = random(4); i >= 0; i--) done.push(operate(root, random))
      const found = await some.told()
      knowsNothing = true
      const expected = await all.told()
      knowsNothing = false
      const what = `SEED=${seed}, round ${round}: ${done.join('; ')}`
      expect(kinds(found), what).toEqual(kinds(expected))
      if (!recursive) continue
      const misfits = found.flatMap((change) => believed.misfit(change) ?? [])
      expect(misfits, what).toEqual([])
      expect(divergences(believed.entries, snapshot(root)), what).toEqual([])
    }
  },
)

/**
 * Returns what is told but for the paths: the order of several renames depends on the walker's threads, and so do the paths. For the same reason an entry in the
 * way is deleted first, or replaced.
 */
function kinds(changes: Change[]): string[] {
  const told = changes.flatMap((change) => {
    const { type, kind, replaced } = { kind: '', replaced: false, ...change }
    const removed = `delete ${kind === 'directory' ? 'directory' : 'file'}`
    if (type === 'delete') return [removed]
    return replaced ? [`${type} ${kind}`, removed] : [`${type} ${kind}`]
  })
  return told.sort()
}

/** Does one operation somewhere below a directory, and returns it in words. */
function operate(root: string, random: (n: number) => number): string {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' })
  const pick = () => paths[random(paths.length)] ?? 'd0'
  const [from, to] = [pick(), random(2) === 0 ? join(dirname(pick()), `n${random(5)}`) : pick()]
  const [source, target] = [join(root, from), join(root, to)]
  const isThere = existsSync(source) && lstatSync(source)
  const kind = random(9)
  try {
    if (kind < 3) renameSync(source, target)
    else if (kind === 3) mkdirSync(target)
    else if (kind === 4 && isThere && isThere.isFile()) appendFileSync(source, 'y')
    else if (kind === 5) writeFileSync(target, 'new')
    else if (kind === 6 && random(3) === 0) rmSync(source, { recursive: true })
    else if (kind === 6) chmodSync(source, 0o700 + random(8))
    else if (kind === 7) linkSync(source, target)
    else if (random(4) === 0 && isThere && existsSync(target)) renameWith(RENAME_EXCHANGE, source, target)
    else symlinkSync('nowhere', target)
  } catch {
    // The names do not fit the operation.
  }
  return `${kind} ${from} ${to}`
}
