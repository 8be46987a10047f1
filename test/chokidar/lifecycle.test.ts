// inotify-bridge/chokidar: adding, unwatching and closing at any moment, and listeners.
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type ChokidarOptions, FSWatcher, watch } from '../../src/entries/chokidar.ts'
import { scratch } from '../support/scratch.ts'
import { isBuilt } from '../watch/child.ts'

/** f, d/f, d/e/f. */
function plant(): string {
  const root = scratch()
  fs.mkdirSync(join(root, 'd/e'), { recursive: true })
  for (const name of ['f', 'd/f', 'd/e/f']) fs.writeFileSync(join(root, name), '')
  return root
}

function noted(paths: string | string[], options: ChokidarOptions = {}) {
  const watcher = watch(paths, options)
  onTestFinished(() => watcher.close())
  const events: string[] = []
  watcher.on('all', (event, path) => void events.push(`${event} ${path}`))
  const ready = new Promise<void>((resolve) => watcher.once('ready', resolve))
  return { watcher, events, ready }
}

test('it is ready when all is that was added before, and once', async () => {
  const [one, other] = [plant(), plant()]
  const { watcher, events, ready } = noted(one)
  let count = 0
  watcher.on('ready', () => void count++)
  watcher.add(other).add(join(other, 'nothing'))
  await ready
  for (const root of [one, other])
    for (const name of ['', '/d', '/d/e']) expect(events).toContain(`addDir ${root}${name}`)
  watcher.add(plant())
  await expect.poll(() => Object.keys(watcher.getWatched()).length).toBeGreaterThan(6)
  expect(count).toBe(1)
})

test('after close() it begins anew by add(), and knows nothing of before', async () => {
  const [one, other] = [plant(), plant()]
  const { watcher, ready } = noted(one)
  await ready
  const closing = watcher.close()
  expect(watcher.close()).toBe(closing)
  await closing
  expect([watcher.closed, watcher.getWatched(), watcher.listenerCount('all')]).toEqual([true, {}, 0])
  const events: string[] = []
  watcher.on('all', (event, path) => void events.push(`${event} ${path}`))
  const isReady = new Promise<void>((resolve) => watcher.once('ready', resolve))
  watcher.add(other)
  await isReady
  expect(watcher.closed).toBe(false)
  expect(Object.keys(watcher.getWatched())).toEqual([
    dirname(other),
    other,
    join(other, 'd'),
    join(other, 'd/e'),
  ])
  fs.writeFileSync(join(other, 'new'), '')
  await expect.poll(() => events).toContain(`add ${join(other, 'new')}`)
  expect(events.some((event) => event.includes(one))).toBe(false)
  const again = watcher.close()
  expect(again).not.toBe(closing)
  await again
  expect([watcher.closed, watcher.getWatched()]).toEqual([true, {}])
})

test('what is closed while it is added is never ready, and tells nothing', async () => {
  const { watcher, events } = noted(plant())
  watcher.on('ready', () => void events.push('ready'))
  await watcher.close()
  expect(events).toEqual([])
})

test.each([{}, { ignoreInitial: true }])(
  'unwatch and add in one turn: the last counts (%o)',
  async (options) => {
    const root = plant()
    const [kept, gone] = [join(root, 'd'), join(root, 'f')]
    const { watcher, events, ready } = noted([kept, gone], options)
    watcher.unwatch(kept).add(kept)
    watcher.add(gone).unwatch(gone)
    await ready
    await expect.poll(() => watcher.getWatched()[kept]).toEqual(['e', 'f'])
    await expect.poll(() => watcher.getWatched()[root]).toEqual(['d'])
    events.length = 0
    fs.writeFileSync(gone, 'text')
    fs.writeFileSync(join(kept, 'f'), 'text')
    await expect.poll(() => events).toEqual([`change ${join(kept, 'f')}`])
  },
)

test('what one listener throws is an uncaught exception; the others, and the next change, are told', async () => {
  const root = plant()
  const { watcher, events, ready } = noted(root)
  await ready
  const thrown: unknown[] = []
  const before = process.rawListeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => void thrown.push(error))
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException')
    for (const listener of before) process.on('uncaughtException', listener as () => void)
  })
  watcher.on('add', () => {
    throw new Error('mine')
  })
  for (const name of ['one', 'two']) fs.writeFileSync(join(root, name), '')
  const told = ['one', 'two'].map((name) => `add ${join(root, name)}`)
  await expect.poll(() => events).toEqual(expect.arrayContaining(told))
  expect(thrown).toEqual([new Error('mine'), new Error('mine')])
})

test('a root that `ignored` names by its path, or by what it is, is not watched', async () => {
  const root = plant()
  const byStats = (path: string, stats?: fs.Stats) => path.endsWith('/d') && stats?.isDirectory() === true
  for (const ignored of [join(root, 'd'), byStats]) {
    const { watcher, events, ready } = noted([join(root, 'd'), join(root, 'f')], { ignored })
    await ready
    await expect.poll(() => watcher.getWatched()).toEqual({ [root]: ['f'] })
    expect(events).toEqual([`add ${join(root, 'f')}`])
  }
  const { watcher, ready } = noted('d', { cwd: root, ignored: 'd' })
  await ready
  expect(watcher.getWatched()).toEqual({})
})

test('a directory may have the name of what every object has', async () => {
  const root = scratch()
  fs.mkdirSync(join(root, '__proto__/constructor'), { recursive: true })
  const { watcher, ready } = noted('.', { cwd: root })
  await ready
  const watched = watcher.getWatched()
  expect(Object.entries(watched).find(([name]) => name === '__proto__')?.[1]).toEqual(['constructor'])
})

test('nothing is told of what lies below what editors call a backup; a root may be called so', async () => {
  const root = scratch()
  fs.mkdirSync(join(root, 'd~'))
  fs.writeFileSync(join(root, 'd~/f'), '')
  const { watcher, events, ready } = noted(root)
  await ready
  expect(events).toEqual([`addDir ${root}`])
  expect(watcher.getWatched()[root]).toEqual([])
  const itself = noted(join(root, 'd~'))
  await itself.ready
  expect(itself.events).toContain(`add ${join(root, 'd~/f')}`)
})

test('awaitWriteFinish: with the stats of the end, relative to cwd; what waited for a name that a directory takes is told before that', async () => {
  const root = plant()
  const awaitWriteFinish = { stabilityThreshold: 100 }
  const { watcher, ready } = noted('.', { cwd: root, awaitWriteFinish, ignoreInitial: true })
  await ready
  const told: unknown[] = []
  watcher.on('all', (event, path, stats) => void told.push([event, path, stats?.size]))
  const file = fs.openSync(join(root, 'd/new'), 'w')
  for (const text of ['one', 'two', 'three']) fs.writeSync(file, text)
  fs.closeSync(file)
  await expect.poll(() => told).toEqual([['add', 'd/new', 11]])
  fs.rmSync(join(root, 'd/new'))
  fs.mkdirSync(join(root, 'd/new'))
  await expect
    .poll(() => told.slice(1).map((each) => (each as string[]).slice(0, 2)))
    .toEqual([
      ['unlink', 'd/new'],
      ['addDir', 'd/new'],
    ])
})

test('options are as they are used, by chokidar’s names', () => {
  expect(new FSWatcher({ awaitWriteFinish: true, usePolling: true }).options).toMatchObject({
    awaitWriteFinish: { stabilityThreshold: 2000, pollInterval: 100 },
    atomic: true,
    interval: 100,
    ignored: [],
    persistent: true,
  })
  expect(new FSWatcher({ ignored: /a/, atomic: 50 }).options).toMatchObject({
    awaitWriteFinish: false,
    atomic: 50,
    ignored: [/a/],
  })
})

test('depth counts what links lead to as what lies there; cwd with ignored', async () => {
  const root = plant()
  fs.symlinkSync('d', join(root, 'link'))
  const { watcher, ready } = noted(root, { depth: 1 })
  await ready
  expect(watcher.getWatched()[join(root, 'link')]).toEqual(['e', 'f'])
  expect(watcher.getWatched()[join(root, 'link/e')]).toEqual([])
  const relative = noted('.', { cwd: root, ignored: ['d/e', /link/] })
  await relative.ready
  expect(relative.watcher.getWatched()).toMatchObject({ '.': ['d', 'f'], d: ['f'] })
})

test.skipIf(!isBuilt).each([
  ['watcher.unref()', {}, ''],
  ['watcher.unref().ref()', {}, 'told'],
  ['', { persistent: false }, ''],
  ['watcher.ref()', { persistent: false }, 'told'],
])('a process and its watcher (needs dist): %s %o', (then, options, told) => {
  const directory = scratch()
  const program = `
    const { watch } = await import(${JSON.stringify(join(import.meta.dirname, '../../dist/chokidar.js'))})
    const { writeFileSync } = await import('node:fs')
    const watcher = watch(${JSON.stringify(directory)}, ${JSON.stringify(options)})
    watcher.on('add', () => { process.stdout.write('told'); watcher.close() })
    watcher.on('ready', () => {
      ${then}
      setTimeout(() => writeFileSync(${JSON.stringify(join(directory, 'f'))}, ''), 200).unref()
    })`
  const run = ['--input-type=module', '-e', program]
  expect(execFileSync(process.execPath, run, { encoding: 'utf8', timeout: 60_000 })).toBe(told)
})

test('of several roots at once each is told once, however they lie in each other; one that cannot be watched keeps none of them out', async () => {
  const root = plant()
  const files = Array.from({ length: 200 }, (_, i) => join(root, 'd/e', `${i}`))
  for (const file of files) fs.writeFileSync(file, '')
  const all = ['', '/d', '/d/e', '/d/e/f', '/d/f', '/f'].map((name) => root + name).concat(files)
  for (const tooLong of [[], ['x'.repeat(5000)]])
    for (const roots of [
      [...files, root, join(root, 'd')],
      [join(root, 'd'), root, ...files],
    ]) {
      const watcher = new FSWatcher()
      onTestFinished(() => watcher.close())
      const [errors, told]: [unknown[], string[]] = [[], []]
      watcher.on('error', (error) => void errors.push(error))
      watcher.on('all', (_, path) => void told.push(path))
      watcher.add([...roots.slice(0, 1), ...tooLong, ...roots.slice(1)])
      await new Promise<void>((resolve) => watcher.once('ready', resolve))
      expect(told.sort()).toEqual([...all].sort())
      expect(errors).toMatchObject(tooLong.map(() => ({ code: 'ENAMETOOLONG' })))
    }
})
