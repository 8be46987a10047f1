// After an overflow a large tree is as good as new in about the time that it took at the start.
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rounds } from '../../support/long.ts'
import { scratch } from '../../support/scratch.ts'
import { watching } from '../support.ts'
import { losing, untilPast } from './losing.ts'

const TOPS = rounds(process.env.TOPS, { quick: 100, long: 250 })
const DIRECTORIES = 200
const FILES = 2
// Meant is 1.5, measured 1.3; the rest is for a machine that does something else as well. With the watches read before `recovered` it was 2.1.
const MOST_TIMES = 1.9

/** 20,000 directories of two files each, or 50,000. */
function plant(root: string): void {
  for (let i = 0; i < TOPS; i++) {
    mkdirSync(join(root, `d${i}`))
    for (let j = 0; j < DIRECTORIES; j++) {
      const directory = join(root, `d${i}/e${j}`)
      mkdirSync(directory)
      for (let k = 0; k < FILES; k++) closeSync(openSync(join(directory, `f${k}`), 'w'))
    }
  }
}

test(`${TOPS * DIRECTORIES} directories are recovered in the time that it took to get ready`, async () => {
  const root = scratch('/dev/shm')
  plant(root)
  await untilPast(join(root, `d${TOPS - 1}`))
  const ratios: number[] = []
  // The median of five: other work of the machine slows some rounds down.
  for (let round = 0; round < 5; round++) {
    const { system, lose } = losing()
    let began = performance.now()
    const { watcher, changes, told } = await watching(root, { recursive: true, backend: 'inotify' }, system)
    const ready = performance.now() - began
    await told()
    lose()
    began = performance.now()
    mkdirSync(join(root, `new${round}`))
    await expect
      .poll(() => changes.map(({ type }) => type), { timeout: 60_000, interval: 5 })
      .toEqual(['overflow', 'create', 'recovered'])
    ratios.push((performance.now() - began) / ready)
    await watcher.close()
  }
  const [, , middle] = ratios.toSorted((a, b) => a - b)
  expect(middle, ratios.map((ratio) => ratio.toFixed(1)).join(', ')).toBeLessThan(MOST_TIMES)
})
