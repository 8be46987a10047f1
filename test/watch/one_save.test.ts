// The changes of one save without `settle`. The clock of these tests fires no timer of 50 ms, so that a
// loaded machine splits no save: each change is told because the file was closed.
import * as fs from 'node:fs'
import { appendFile, copyFile, open, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Change, IN_CLOSE_WRITE, IN_CREATE, IN_MODIFY } from '../../src/index.ts'
import { systemClock } from '../../src/watch/clock.ts'
import type { WatchOptions } from '../../src/watch/options.ts'
import { scratch } from '../support/scratch.ts'
import { inWords, watching } from './support.ts'

const SAVE_MS = 50
const WRITE = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE
const patient = {
  clock: {
    ...systemClock,
    after: (ms: number, task: () => void) =>
      ms > 40 && ms <= SAVE_MS ? () => {} : systemClock.after(ms, task),
  },
}

async function saving(options: WatchOptions = {}, system: Parameters<typeof watching>[2] = patient) {
  const root = scratch()
  fs.mkdirSync(join(root, 'd'))
  for (const name of ['old', 'd/old']) fs.writeFileSync(join(root, name), 'old')
  const { watcher, changes } = await watching(
    root,
    { recursive: true, backend: 'inotify', ...options },
    system,
  )
  // sync() ends the doubt about events that the first listing may have shown ahead.
  await watcher.sync()
  /** Returns the changes once there are `count`. Does not hurry any change that is held back. */
  const told = async (count: number) => {
    await expect.poll(() => changes.length).toBeGreaterThanOrEqual(count)
    // The changes of a marker show that all earlier events have been read.
    fs.mkdirSync(join(root, 'end'))
    await expect.poll(() => changes.some(({ path }) => path.endsWith('/end'))).toBe(true)
    fs.rmdirSync(join(root, 'end'))
    await expect.poll(() => changes.some(({ type }) => type === 'delete')).toBe(true)
    return changes.splice(0).filter(({ path }) => !path.endsWith('/end'))
  }
  return { root, watcher, changes, told, at: (name: string) => join(root, name) }
}

const words = (changes: Change[], root: string) => changes.map((each) => inWords(each, root))

const WAYS: ReadonlyArray<[how: string, save: (path: string) => Promise<void>]> = [
  ['one byte', (path) => writeFile(path, 'x')],
  ['5 MB', (path) => writeFile(path, 'x'.repeat(5e6))],
  ['an append', (path) => appendFile(path, 'x')],
  ['a copy', (path) => copyFile(import.meta.filename, path)],
  [
    'many writes, and a mode',
    async (path) => {
      await using file = await open(path, 'w')
      for (let i = 0; i < 20; i++) {
        await file.write('x')
        await sleep(1)
      }
      await file.datasync()
    },
  ],
  ['all within one turn', async (path) => fs.writeFileSync(path, 'x')],
]

describe.each<[WatchOptions]>([[{}], [{ expand: true }], [{ recursive: false }]])('%o', (options) => {
  describe.each(WAYS)('a save: %s', (_, save) => {
    test('is one modify, at its IN_CLOSE_WRITE', async () => {
      const { root, at, told } = await saving(options)
      await save(at('old'))
      // fs.copyFile() sets the mode of the existing file.
      const changes = (await told(1)).filter(({ type }) => type !== 'attrib')
      expect(words(changes, root)).toEqual(['modify file old'])
      expect(changes.map((change) => 'mask' in change && change.mask & WRITE)).toEqual([
        IN_MODIFY | IN_CLOSE_WRITE,
      ])
    })

    test('of a new file is one create, at its IN_CLOSE_WRITE', async () => {
      const { root, at, told } = await saving(options)
      await save(at('new'))
      const changes = await told(1)
      expect(words(changes, root)).toEqual(['create file new'])
      expect(changes.map((change) => 'mask' in change && change.mask & WRITE)).toEqual([WRITE])
    })

    test('of an editor is its rename', async () => {
      const { root, at, told } = await saving(options)
      await save(at('.old.tmp'))
      await rename(at('.old.tmp'), at('old'))
      const changes = await told(2)
      expect(words(changes, root)).toEqual(['create file .old.tmp', 'rename file .old.tmp old replaced'])
    })

    test('is more with `settle: 0`', async () => {
      const { root, at, told } = await saving({ ...options, settle: 0 })
      await save(at('new'))
      const [first, ...others] = words(await told(2), root)
      expect(first).toBe('create file new')
      expect(others).toContain('modify file new')
    })
  })
})

test('files that are saved at the same time are one change each, and each save of a file is one', async () => {
  const { root, at, told } = await saving()
  const names = Array.from({ length: 50 }, (_, i) => (i % 2 ? `f${i}` : `d/f${i}`))
  await Promise.all(names.map((name) => writeFile(at(name), 'x'.repeat(100_000))))
  expect(words(await told(50), root).toSorted()).toEqual(
    names.map((name) => `create file ${name}`).toSorted(),
  )
  for (let i = 1; i <= 3; i++) {
    await writeFile(at('old'), `${i}`)
    expect(words(await told(1), root)).toEqual(['modify file old'])
  }
})

describe('a writer that keeps its file open', () => {
  test('is told of every 50 ms', async () => {
    const { root, at, changes } = await saving({}, {})
    const log = fs.openSync(at('old'), 'a')
    onTestFinished(() => fs.closeSync(log))
    const writing = setInterval(() => fs.writeSync(log, 'line\n'), 2)
    const startedAt = performance.now()
    await expect.poll(() => changes.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(5)
    clearInterval(writing)
    expect(changes.length).toBeLessThanOrEqual((performance.now() - startedAt) / SAVE_MS + 1)
    expect(new Set(words(changes, root))).toEqual(new Set(['modify file old']))
  })

  test('of a new file, too; and what is no file that is written is told at once', async () => {
    const { root, at, changes, told } = await saving({}, {})
    const log = fs.openSync(at('new'), 'a')
    onTestFinished(() => fs.closeSync(log))
    await expect.poll(() => words(changes, root)).toEqual(['create file new'])
    changes.length = 0
    const others = await saving()
    fs.mkdirSync(others.at('new'))
    fs.symlinkSync('old', others.at('link'))
    fs.renameSync(at('old'), others.at('moved'))
    expect(words(await others.told(3), others.root)).toEqual([
      'create directory new',
      'create symlink link',
      'create file moved',
    ])
    expect(words(await told(1), root)).toEqual(['delete file old'])
  })

  test.each<[string, (at: (name: string) => string) => void, string[]]>([
    ['removed', (at) => fs.rmSync(at('d/new')), ['create file d/new', 'delete file d/new']],
    [
      'renamed',
      (at) => fs.renameSync(at('d/new'), at('n')),
      ['create file d/new', 'rename file d/new n', 'modify file n'],
    ],
    [
      'in a directory that is renamed',
      (at) => fs.renameSync(at('d'), at('e')),
      ['create file d/new', 'rename directory d e', 'modify file e/new'],
    ],
    [
      'replaced',
      (at) => fs.renameSync(at('old'), at('d/new')),
      ['create file d/new', 'rename file old d/new replaced'],
    ],
  ])('has its file %s: it is told to be there first, once', async (_, act, expected) => {
    const { root, at, watcher, changes } = await saving({ expand: true })
    const log = fs.openSync(at('d/new'), 'w')
    onTestFinished(() => fs.closeSync(log))
    fs.writeSync(log, 'one')
    act(at)
    fs.writeSync(log, 'two')
    await watcher.sync()
    const lines = words(changes, root)
    // With `expand`, the entries of the renamed directory have renames of their own.
    const expanded = ['rename file d/new e/new', 'rename file d/old e/old']
    expect(lines.filter((line) => !expanded.includes(line))).toEqual(expected)
  })
})

test('sync() and save() wait for no writer, and what waits is not there for entries() and has()', async () => {
  const { root, at, watcher, changes } = await saving()
  const log = fs.openSync(at('new'), 'w')
  onTestFinished(() => fs.closeSync(log))
  // The marker's change shows that the write has been read.
  fs.mkdirSync(at('behind'))
  await expect.poll(() => words(changes, root)).toEqual(['create directory behind'])
  const paths = () => [...watcher.entries()].map(({ path }) => path)
  expect([watcher.has(at('new')), watcher.has(at('behind'))]).toEqual([false, true])
  expect(paths()).not.toContain(at('new'))
  expect([...watcher.entries(at('new'))]).toEqual([])
  await watcher.sync()
  expect(words(changes, root)).toEqual(['create directory behind', 'create file new'])
  expect(watcher.has(at('new'))).toBe(true)
  expect(paths()).toContain(at('new'))
  fs.writeSync(log, 'x')
  await watcher.save(join(scratch(), 'saved'))
  expect(words(changes, root).at(-1)).toBe('modify file old'.replace('old', 'new'))
})

test('what a poll finds waits for nobody', async () => {
  const { root, at, changes } = await saving({ backend: 'poll', interval: 5 })
  const log = fs.openSync(at('new'), 'w')
  onTestFinished(() => fs.closeSync(log))
  await expect.poll(() => words(changes, root)).toEqual(['create file new'])
  fs.writeSync(log, 'x')
  await expect.poll(() => words(changes, root)).toEqual(['create file new', 'modify file new'])
})
