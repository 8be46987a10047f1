// A file that is opened to be written, and what becomes of it, beside chokidar 5 and 6: the same is done to each.
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import chokidar from 'chokidar'
import chokidar6 from 'chokidar6'
import { expect, onTestFinished, test } from 'vitest'
import { type ChokidarOptions, watch } from '../../src/entries/chokidar.ts'
import { scratch } from '../support/scratch.ts'

type Step = (file: string) => unknown

const NOTHING: Array<[string, Step]> = [
  ['opened to be added to, and closed', (file) => fs.closeSync(fs.openSync(file, 'a'))],
  ['opened to be read and written, and closed', (file) => fs.closeSync(fs.openSync(file, 'r+'))],
  ['so, twenty times', (file) => Array.from({ length: 20 }, () => fs.closeSync(fs.openSync(file, 'a')))],
  ['read', (file) => fs.readFileSync(file)],
]
const A_CHANGE: Array<[string, Step]> = [
  ['written', (file) => fs.writeFileSync(file, 'text')],
  ['given other times', (file) => fs.utimesSync(file, new Date(), new Date(Date.now() + 5000))],
  [
    'opened, given other times, and closed, as by touch',
    (file) => {
      const fd = fs.openSync(file, 'a')
      fs.futimesSync(fd, 7, Date.now() / 1000 + 5)
      fs.closeSync(fd)
    },
  ],
  ['removed and written again', (file) => [fs.unlinkSync(file), fs.writeFileSync(file, 'again')]],
  [
    'written in ten pieces',
    async (file) => {
      const fd = fs.openSync(file, 'a')
      for (let i = 0; i < 10; i++) {
        fs.writeSync(fd, 'x')
        await sleep(10)
      }
      fs.closeSync(fd)
    },
  ],
  [
    'written, and closed after a while',
    async (file) => {
      const fd = fs.openSync(file, 'a')
      fs.writeSync(fd, 'x')
      await sleep(120)
      fs.closeSync(fd)
    },
  ],
]

test.each<ChokidarOptions>([
  {},
  { alwaysStat: true },
  { awaitWriteFinish: { stabilityThreshold: 60, pollInterval: 20 } },
])('what has changed is told, and nothing else, with %o', async (options) => {
  const originals = [chokidar, chokidar6] as unknown as Array<{ watch: typeof watch }>
  const expected = A_CHANGE.flatMap(([name]) => [`change ${name}`, `change d/${name}`]).sort()
  const each = [{ watch }, ...originals].map(async (library) => {
    const directory = scratch()
    fs.mkdirSync(join(directory, 'd'))
    const steps = [...NOTHING, ...A_CHANGE].flatMap(([name, step]) => [
      [name, step] as const,
      [`d/${name}`, step] as const,
    ])
    for (const [name] of steps) fs.writeFileSync(join(directory, name), 'old')
    await sleep(20)
    const seen = new Set<string>()
    const watcher = library.watch(directory, { ignoreInitial: true, ...options })
    onTestFinished(() => watcher.close())
    watcher.on('all', (event, path) => seen.add(`${event} ${path.slice(directory.length + 1)}`))
    await new Promise<void>((resolve) => watcher.once('ready', resolve))
    await Promise.all(steps.map(([name, step]) => step(join(directory, name))))
    fs.writeFileSync(join(directory, 'last'), 'x')
    await expect.poll(() => seen.has('add last')).toBe(true)
    const told = () => [...seen].filter((event) => !event.endsWith('last')).sort()
    await expect.poll(told).toEqual(expected)
    // A surplus event comes later: chokidar waits for 'unlink' by a timer.
    await sleep(150)
    return told()
  })
  expect(await Promise.all(each)).toEqual([expected, expected, expected])
})

test('a file that is new and written is told when it is closed, not after the time that one that stays open has', async () => {
  const directory = scratch()
  const watcher = watch(directory, { ignoreInitial: true })
  onTestFinished(() => watcher.close())
  const sizes: number[] = []
  watcher.on('add', (path) => sizes.push(fs.statSync(path).size))
  await new Promise<void>((resolve) => watcher.once('ready', resolve))
  const fd = fs.openSync(join(directory, 'new'), 'w')
  await sleep(10)
  fs.writeSync(fd, 'text')
  await sleep(10)
  fs.closeSync(fd)
  await expect.poll(() => sizes).toEqual([4])
})
