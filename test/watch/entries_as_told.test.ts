// entries() and has() amid changes: in each turn of the event loop they show exactly the changes told until
// then.
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { WatchOptions } from '../../src/watch/options.ts'
import { Watcher } from '../../src/watch/watcher.ts'
import { scratch } from '../support/scratch.ts'
import { AppliedAlone } from './applied_alone.ts'
import { RENAME_EXCHANGE, Replay, randomFrom, renameWith } from './support.ts'

const SEED = Number(process.env.SEED ?? 33)
const ACTS = 150

/** Changes some of the names in a tree and beside the tree. Leaves out operations that are impossible. */
function act(random: (n: number) => number, root: string, beside: string): void {
  const any = (paths: string[]) => paths[random(paths.length)] as string
  const directory = () => join(root, any(['d', 'd/e', 'n', 'n/e']))
  const name = () => join(any([root, directory()]), `f${random(5)}`)
  const away = () => join(beside, `g${random(3)}`)
  const acts = [
    () => writeFileSync(name(), ''),
    () => writeFileSync(name(), ''),
    () => mkdirSync(directory(), { recursive: true }),
    () => symlinkSync(beside, name()),
    () => rmSync(any([name(), directory()]), { recursive: true }),
    () => renameSync(name(), name()),
    () => renameSync(directory(), directory()),
    () => renameSync(any([name(), directory()]), away()),
    () => renameSync(away(), any([name(), directory()])),
    () => {
      const [one, other] = [name(), any([name(), join(root, 'd/e'), join(root, 'n')])]
      if (existsSync(one) && existsSync(other)) renameWith(RENAME_EXCHANGE, one, other)
    },
  ]
  try {
    acts[random(acts.length)]?.()
  } catch {}
}

test.each<WatchOptions>([
  { backend: 'inotify', recursive: true },
  { backend: 'inotify', recursive: true, expand: true },
  { backend: 'inotify', recursive: true, settle: 20 },
  { backend: 'inotify', recursive: true, initial: true },
  { backend: 'inotify', recursive: true, ignore: [/f3$/] },
  { backend: 'inotify', recursive: true, followSymlinks: true },
  { backend: 'inotify' },
  { backend: 'poll', interval: 5, recursive: true },
  { backend: 'poll', interval: 5, recursive: true, expand: true },
])(`they are as far as what was told: SEED=${SEED}, %o`, async (options) => {
  const random = randomFrom(SEED)
  const [root, beside] = [scratch(), scratch()]
  for (let i = 0; i < 30; i++) act(random, root, beside)
  const watcher = new Watcher(root, options)
  onTestFinished(() => watcher.close())
  const told = options.expand === true ? new Replay() : new AppliedAlone(root)
  watcher.on('changes', (changes) => void told.apply(changes))
  await watcher.ready
  const shown = () => new Map([...watcher.entries()].map(({ path, kind }) => [path, kind]))
  if (told instanceof Replay) for (const [path, kind] of shown()) told.names.set(path, kind)
  else if (options.initial !== true) told.adopt([...shown()].slice(1))
  let turns = 0
  const look = () => {
    turns++
    const names = new Map(told.names).set(root, 'directory')
    expect([...shown()].sort()).toEqual([...names].sort())
    for (const path of names.keys()) expect(watcher.has(path), path).toBe(true)
  }
  for (let i = 0; i < ACTS; i++) {
    act(random, root, beside)
    for (let n = random(4); n > 0; n--) {
      await nextTurn()
      look()
    }
  }
  let isOver = false
  const over = watcher.sync().finally(() => {
    isOver = true
  })
  while (!isOver) {
    await nextTurn()
    look()
  }
  await over
  expect(turns).toBeGreaterThan(ACTS)
})
