// A directory moves while a poll goes on, before each of its steps: from a place that the poll has passed to
// one that it has not, and the other way round.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { WatchOptions } from '../../../src/index.ts'
import { scratch } from '../../support/scratch.ts'
import { AppliedAlone } from '../applied_alone.ts'
import { watching } from '../support.ts'
import { namesIn } from './names.ts'
import { stepping } from './stepping.ts'

const DIRECTORIES = ['a', 'a/b', 'a/b/c', 'd', 'd/e']
const MOVES = [
  ['a/b', 'moved'],
  ['a/b', 'd/moved'],
  ['a/b', 'd/e/moved'],
  ['d', 'a/b/c/moved'],
  ['d/e', 'moved'],
  ['d/e', 'a/moved'],
] as const

/** Makes a directory in `from` before a poll, and moves `from` before this step of the poll. */
async function play(options: WatchOptions, [from, to]: (typeof MOVES)[number], step: number) {
  const steps = stepping()
  const root = join(scratch('/dev/shm'), 'root')
  const at = (path: string) => join(root, path)
  for (const path of DIRECTORIES) mkdirSync(at(path), { recursive: true })
  const before = namesIn(root)
  const settings = { recursive: true, backend: 'poll', interval: 1_000_000, ...options } as const
  const { told } = await watching(root, settings, steps.system)
  await told()
  mkdirSync(at(`${from}/new`))
  writeFileSync(at(`${from}/new/file`), '')
  let next = 0
  steps.between = () => {
    if (next++ === step) renameSync(at(from), at(to))
  }
  const believed = new AppliedAlone(root).adopt(before).apply(await told())
  const isTold = [...believed.names.keys()].some((path) => path.endsWith('/new/file'))
  steps.between = undefined
  // The next poll tells the move.
  const { names } = believed.apply(await told())
  return { hasMoved: next > step, isTold, agrees: isSame(names, new Map(namesIn(root))) }
}

function isSame(names: ReadonlyMap<string, string>, others: ReadonlyMap<string, string>): boolean {
  return names.size === others.size && [...names].every(([path, kind]) => others.get(path) === kind)
}

test.each<[string, WatchOptions]>([
  ['', {}],
  [', with ignore rules', { ignore: [/ignored$/] }],
])('what was made in it before sync() is told by sync()%s', async (_, options) => {
  const wrong: string[] = []
  for (const move of MOVES) {
    for (let step = 0; ; step++) {
      const { hasMoved, isTold, agrees } = await play(options, move, step)
      if (!isTold || !agrees)
        wrong.push(`${move.join(' to ')} before step ${step}: ${isTold ? 'does not agree' : 'not told'}`)
      if (!hasMoved) break
    }
  }
  expect(wrong).toEqual([])
})
