// Trees with more entries than are kept unpacked: no change may be lost, told as another one, or cost more
// than in a small tree.
import { closeSync, mkdirSync, openSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Change } from '../../../src/index.ts'
import { linux } from '../../../src/watch/linux.ts'
import { isLong } from '../../support/long.ts'
import { scratch } from '../../support/scratch.ts'
import { inWords, watching } from '../support.ts'
import { losing, untilPast } from './losing.ts'

const NEVER = 1_000_000
// Quick runs have a tenth of the entries and of the cache, so that as great a part goes through the cache.
const TENTH = isLong ? 1 : 10
const DIRECTORIES = 1000 / TENTH
const FILES = 100
const LARGE = 40_000 / TENTH
const small = { entryCacheSize: Math.floor(linux.entryCacheSize / TENTH) }

const touch = (path: string) => closeSync(openSync(path, 'w'))

function fill(directory: string, files: number): void {
  mkdirSync(directory)
  for (let i = 0; i < files; i++) touch(join(directory, `f${i}`))
}

/**
 * Makes directories d0, d1, ... of 100 files each, which are more than are kept unpacked. In memory, where
 * files are made quickly.
 */
async function largeTree(root: string): Promise<void> {
  mkdirSync(root)
  for (let i = 0; i < DIRECTORIES; i++) fill(join(root, `d${i}`), FILES)
  await untilPast(root)
}

/** Writes one file and removes another in each directory. */
function changeEach(root: string): void {
  for (let i = 0; i < DIRECTORIES; i++) {
    writeFileSync(join(root, `d${i}/f0`), 'x')
    unlinkSync(join(root, `d${i}/f1`))
  }
}

/** Returns the changes of {@link changeEach} that are missing, and other changes. */
function missing(changes: Change[], root: string) {
  const told = new Set(changes.map((change) => inWords(change, root)))
  const expected = Array.from({ length: DIRECTORIES }, (_, i) => [
    `modify file d${i}/f0`,
    `delete file d${i}/f1`,
  ])
  const count = (at: number) => expected.filter((lines) => !told.delete(lines[at] as string)).length
  return { modifies: count(0), deletes: count(1), others: [...told] }
}

const NONE = { modifies: 0, deletes: 0 }

test('after an overflow no write and no removal is left out', async () => {
  const root = join(scratch('/dev/shm'), 'root')
  await largeTree(root)
  const { system, lose } = losing()
  const { told } = await watching(root, { recursive: true, backend: 'inotify' }, { ...system, ...small })
  await told()
  lose()
  changeEach(root)
  expect(missing(await told(), root)).toEqual({ ...NONE, others: ['overflow .', 'recovered .'] })
})

test('nor by a poll that finds a new directory as well', async () => {
  const root = join(scratch('/dev/shm'), 'root')
  await largeTree(root)
  const { told } = await watching(root, { recursive: true, backend: 'poll', interval: NEVER }, small)
  changeEach(root)
  mkdirSync(join(root, 'new'))
  expect(missing(await told(), root)).toEqual({ ...NONE, others: ['create directory new'] })
})

test('nor when a root that was lost is back', async () => {
  const root = join(scratch('/dev/shm'), 'root')
  await largeTree(root)
  const { told } = await watching(root, { recursive: true, backend: 'inotify', interval: NEVER }, small)
  await told()
  renameSync(root, `${root}-elsewhere`)
  expect((await told()).map(({ type }) => type)).toEqual(['lost'])
  changeEach(`${root}-elsewhere`)
  renameSync(`${root}-elsewhere`, root)
  expect(missing(await told(), root)).toEqual({ ...NONE, others: ['restored .'] })
})

test('a rename from one large directory to another is a rename', async () => {
  const root = scratch('/dev/shm')
  for (const name of ['a', 'b']) fill(join(root, name), LARGE)
  const { told } = await watching(root, { recursive: true, backend: 'inotify' }, small)
  const names = Array.from({ length: 20 }, (_, i) => `f${100 * i}`)
  for (const name of names) renameSync(join(root, 'a', name), join(root, 'b', `${name}-moved`))
  const lines = (await told()).map((change) => inWords(change, root))
  expect(lines).toEqual(names.map((name) => `rename file a/${name} b/${name}-moved`))
})

/** Returns the ms until `count` files, made in turn in directories of so many files, have been told. */
async function timeInTurn(sizes: number[], count: number): Promise<number> {
  const root = scratch('/dev/shm')
  for (const [i, files] of sizes.entries()) fill(join(root, `d${i}`), files)
  const { told } = await watching(root, { recursive: true, backend: 'inotify' })
  const turn = (name: string, times: number) => {
    for (let i = 0; i < times; i++) touch(join(root, `d${i % sizes.length}`, `${name}${i}`))
  }
  turn('first', sizes.length)
  await told()
  const began = performance.now()
  turn('new', count)
  const changes = await told()
  const took = performance.now() - began
  expect(changes.filter(({ type }) => type === 'create')).toHaveLength(count)
  return took
}

// Below so many ms the test would measure the machine.
const LEAST = 25
const MOST_TIMES = 10
const TRIES = 3

const IN_TURN: Array<[what: string, large: number[], small: number[], count: number]> = [
  ['two directories of 40,000 files', [40_000, 40_000], [4000, 4000], 300],
]
// Making and removing these takes some seconds.
if (isLong) IN_TURN.push(['a directory of 300,000 files and a small one', [300_000, 10], [3000, 10], 50])

test.each(IN_TURN)(
  'files made in turn in %s are told as soon as in small ones',
  async (_, large, small, count) => {
    const tries: string[] = []
    // The machine may have stood still during one run, but not during each.
    for (let left = TRIES; left > 0; left--) {
      const base = Math.max(LEAST, await timeInTurn(small, count))
      const took = await timeInTurn(large, count)
      if (took / base < MOST_TIMES) return
      tries.push(`${took} ms, and ${base} ms in small ones`)
    }
    expect.fail(tries.join('; '))
  },
)
