import { execFile } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../../src/index.ts'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'
import { losing, untilPast } from '../regressions/losing.ts'
import { story, watching } from '../support.ts'
import { failingWalks } from './failing_walks.ts'

test.each(['EIO', 'ESTALE', 'ENOTCONN', 'ETIMEDOUT'] as const)(
  '%s of a directory is told once, and what lies in it when it can be read again, of which no event tells',
  async (code) => {
    const root = scratch()
    const { watcher, changes } = await watching(root, { recursive: true, backend: 'inotify' })
    const errors: unknown[] = []
    watcher.on('error', (error) => errors.push(error))
    const { faults, tries } = failingWalks()
    faults.set('b', { code })
    mkdirSync(join(root, 'a/b/c'), { recursive: true })
    writeFileSync(join(root, 'a/b/c/file'), '')
    await expect.poll(() => tries.length).toBeGreaterThan(2)
    const path = join(root, 'a/b')
    expect(errors).toMatchObject([{ code, path }])
    expect(watcher.coverage()[0]?.uncovered).toMatchObject([{ path, error: { code } }])
    faults.clear()
    await expect.poll(() => story(changes, root)).toContain('create file a/b/c/file')
    expect(watcher.coverage()[0]?.uncovered).toEqual([])
    expect(errors).toHaveLength(1)
  },
)

test('what a server knows no more (ESTALE) is tried until its name is gone', async () => {
  const root = scratch()
  const { watcher, changes, told } = await watching(root, { recursive: true, backend: 'inotify' })
  watcher.on('error', () => {})
  const { faults, tries } = failingWalks()
  faults.set('b', { code: 'ESTALE', of: 'open' })
  mkdirSync(join(root, 'a/b'), { recursive: true })
  await expect.poll(() => tries.length).toBeGreaterThan(2)
  expect(story(changes, root)).toEqual(['create directory a', 'create directory a/b'])
  rmSync(join(root, 'a/b'), { recursive: true })
  expect(story(await told(), root).at(-1)).toBe('delete directory a/b')
  const had = tries.length
  await sleep(1500)
  expect(tries).toHaveLength(had)
})

test('what cannot be opened by itself, though it was listed before, is not told to be another', async () => {
  const root = scratch()
  const { watcher, changes } = await watching(root, { recursive: true, backend: 'inotify' })
  watcher.on('error', () => {})
  const { faults, tries } = failingWalks()
  faults.set('a', { code: 'EIO', of: 'watch' })
  mkdirSync(join(root, 'a'))
  writeFileSync(join(root, 'a/file'), '')
  await expect.poll(() => story(changes, root)).toEqual(['create directory a', 'create file a/file'])
  faults.set('a', { code: 'EIO', of: 'open' })
  const had = tries.length
  await expect.poll(() => tries.length).toBeGreaterThan(had + 1)
  faults.clear()
  await expect.poll(() => watcher.coverage()[0]?.uncovered).toEqual([])
  expect(story(changes, root)).toEqual(['create directory a', 'create file a/file'])
})

describe('what was written meanwhile to files that are known is told when it works again', () => {
  const OPTIONS = { recursive: true, backend: 'inotify' } as const
  const named = (changes: Change[], name: string) =>
    changes.flatMap(({ type, path }) => (path.endsWith(name) ? [type] : []))

  test('where events were lost, and the directory could not be looked through then', async () => {
    const root = scratch()
    mkdirSync(join(root, 'a/below'), { recursive: true })
    const [kept, written, below] = ['a/kept', 'a/written', 'a/below/written'].map((name) => join(root, name))
    for (const path of [kept, written, below]) writeFileSync(path as string, '')
    await untilPast(below as string)
    const { system, lose } = losing()
    const { watcher, changes } = await watching(root, OPTIONS, system)
    watcher.on('error', () => {})
    const { faults, tries } = failingWalks()
    faults.set('a', { code: 'EIO', of: 'open' })
    lose()
    writeFileSync(written as string, 'longer')
    writeFileSync(below as string, 'longer')
    await expect.poll(() => named(changes, root)).toEqual(['overflow', 'recovered'])
    await expect.poll(() => tries.length).toBeGreaterThan(2)
    expect(changes.map(({ type }) => type)).toEqual(['overflow', 'recovered'])
    faults.clear()
    await expect
      .poll(() => story(changes, root).slice(2).toSorted())
      .toEqual(['modify file a/below/written', 'modify file a/written'])
    expect(watcher.coverage()[0]?.uncovered).toEqual([])
  })

  test('where something had moved away when it was tried, and is back', async () => {
    const root = scratch()
    mkdirSync(join(root, 'a/below'), { recursive: true })
    const file = join(root, 'a/below/file')
    writeFileSync(file, '')
    await untilPast(file)
    const { system, lose } = losing()
    const { watcher, changes } = await watching(root, OPTIONS, system)
    watcher.on('error', () => {})
    const { faults, tries } = failingWalks()
    faults.set('a', { code: 'EIO' })
    lose()
    writeFileSync(file, 'longer')
    await expect.poll(() => tries.length).toBeGreaterThan(2)
    faults.clear()
    faults.set('below', { code: 'ENOENT' })
    const had = tries.length
    await expect.poll(() => tries.length).toBeGreaterThan(had)
    faults.clear()
    await expect
      .poll(() => story(changes, root))
      .toEqual(['overflow .', 'recovered .', 'modify file a/below/file'])
  })

  test('where it has no watch: once, however often that fails', async () => {
    const root = scratch()
    const { watcher, changes } = await watching(root, OPTIONS)
    watcher.on('error', () => {})
    const { faults, tries } = failingWalks()
    faults.set('a', { code: 'EIO', of: 'watch' })
    mkdirSync(join(root, 'a'))
    const file = join(root, 'a/file')
    writeFileSync(file, '')
    await expect.poll(() => named(changes, file)).toEqual(['create'])
    await untilPast(file)
    for (const wanted of [['modify'], ['modify', 'modify']]) {
      const had = tries.length
      writeFileSync(file, 'longer')
      await expect.poll(() => named(changes, file).slice(1)).toEqual(wanted)
      await expect.poll(() => tries.length).toBeGreaterThan(had + 2)
      expect(named(changes, file).slice(1)).toEqual(wanted)
    }
  })

  test('where its root is lost and restored before that', async () => {
    const root = join(scratch(), 'root')
    mkdirSync(root)
    const { watcher, changes, told } = await watching(root, OPTIONS)
    watcher.on('error', () => {})
    const { faults, tries } = failingWalks()
    faults.set('a', { code: 'EIO', of: 'watch' })
    mkdirSync(join(root, 'a'))
    const file = join(root, 'a/file')
    writeFileSync(file, '')
    await expect.poll(() => named(changes, file)).toEqual(['create'])
    await untilPast(file)
    faults.set('a', { code: 'EIO', of: 'open' })
    const had = tries.length
    await expect.poll(() => tries.length).toBeGreaterThan(had)
    writeFileSync(file, 'longer')
    await untilPast(file)
    await told()
    renameSync(root, `${root}-other`)
    faults.clear()
    await told()
    renameSync(`${root}-other`, root)
    const changed = [...(await told()), ...(await told())]
    expect(changed.some(({ type }) => type === 'restored')).toBe(true)
    expect(named(changed, file)).toEqual(['modify'])
  })
})

test('a root that cannot be read is tried again as what lies in it is', async () => {
  const root = scratch()
  const { watcher, changes } = await watching(root, { recursive: true, backend: 'inotify' })
  const errors: unknown[] = []
  watcher.on('error', (error) => errors.push(error))
  const { faults, tries } = failingWalks()
  // A directory that was just seen and fails with ENOENT is looked for in its parent, which here fails as
  // well.
  faults.set('a', { code: 'ENOENT' })
  faults.set(basename(root), { code: 'EIO' })
  mkdirSync(join(root, 'a'))
  writeFileSync(join(root, 'a/file'), '')
  await expect.poll(() => tries.length).toBeGreaterThan(3)
  expect(errors).toMatchObject([{ code: 'EIO', path: root }])
  expect(watcher.coverage()[0]?.uncovered).toMatchObject([{ path: root, error: { code: 'EIO' } }])
  faults.clear()
  await expect.poll(() => story(changes, root)).toEqual(['create directory a', 'create file a/file'])
  await expect.poll(() => watcher.coverage()[0]?.uncovered).toEqual([])
})

test('a root that cannot be read after an overflow is lost, and not recovered', async () => {
  const root = scratch()
  const written = join(root, 'written')
  writeFileSync(written, '')
  await untilPast(written)
  const { system, lose } = losing()
  const options = { recursive: true, backend: 'inotify', interval: 100 } as const
  const { watcher, changes } = await watching(root, options, system)
  const errors: unknown[] = []
  watcher.on('error', (error) => errors.push(error))
  const { faults, tries } = failingWalks()
  faults.set(basename(root), { code: 'EIO' })
  lose()
  writeFileSync(written, 'longer')
  await expect.poll(() => tries.length).toBeGreaterThan(3)
  expect(story(changes, root)).toEqual(['overflow .', 'lost .'])
  expect(errors).toMatchObject([{ code: 'EIO', path: root }])
  faults.clear()
  await expect.poll(() => story(changes, root).slice(2)).toEqual(['restored .', 'modify file written'])
})

test('what a server takes long to refuse is asked for rarely: others are not to wait for it', async () => {
  const root = scratch()
  const { watcher } = await watching(root, { recursive: true, backend: 'inotify' })
  watcher.on('error', () => {})
  const SLOW_MS = 200
  const { faults, tries } = failingWalks()
  faults.set('slow', { code: 'ETIMEDOUT', ms: SLOW_MS })
  mkdirSync(join(root, 'slow'))
  // The first try comes at once.
  const rests = () => tries.slice(1).map((at, index) => at - (tries[index] ?? 0))
  await expect.poll(() => rests().some((ms) => ms > 10 * SLOW_MS)).toBe(true)
  expect(tries.length).toBeLessThan(5)
})

test('sync() tries at once, and once: it waits for nothing that fails still', async () => {
  const root = scratch()
  const { watcher, told } = await watching(root, { recursive: true, backend: 'inotify' })
  watcher.on('error', () => {})
  const { faults, tries } = failingWalks()
  faults.set('a', { code: 'EIO', of: 'open', ms: 200 })
  mkdirSync(join(root, 'a'))
  writeFileSync(join(root, 'a/file'), '')
  // After a try by the timer, the next one follows two seconds later.
  await expect
    .poll(() => (tries.at(-1) ?? 0) - (tries.at(-2) ?? Number.POSITIVE_INFINITY))
    .toBeGreaterThan(500)
  const had = tries.length
  expect(story(await told(), root)).toEqual(['create directory a'])
  expect(tries).toHaveLength(had + 1)
  // A try under way may have begun before the fault was cleared.
  const syncing = watcher.sync()
  await expect.poll(() => tries.length).toBe(had + 2)
  faults.clear()
  expect(story(await told(), root)).toEqual(['create file a/file'])
  await syncing
  expect(watcher.coverage()[0]?.uncovered).toEqual([])
})

describe.skipIf(!mayUnshare)(
  'a FUSE server that cannot give its directories (needs unshare -rm and dist)',
  () => {
    test.each([
      ['inotify', 'EIO'],
      ['inotify', 'ESTALE'],
      ['auto', 'EIO'],
      ['poll', 'EIO'],
    ])('by %s, %s: all is told and covered when it can', async (...how) => {
      const program = [process.execPath, join(import.meta.dirname, 'failing_server.mjs'), scratch(), ...how]
      const { stdout } = await promisify(execFile)('unshare', ['-rm', ...program], { timeout: 120_000 })
      expect(JSON.parse(stdout)).toEqual({ broken: { told: 20, uncovered: 20 }, told: 40 })
    })
  },
)
