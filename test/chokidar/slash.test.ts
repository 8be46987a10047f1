// The root of the file system, and paths from it.
import * as fs from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { type ChokidarOptions, watch } from '../../src/entries/chokidar.ts'
import { scratch } from '../support/scratch.ts'

const names = fs.readdirSync('/', { withFileTypes: true })

test.each<[string | string[], ChokidarOptions]>([
  ['/', {}],
  ['//', {}],
  ['/.', {}],
  ['/tmp/..', {}],
  ['/', { ignoreInitial: true }],
  ['/', { usePolling: true, interval: 50 }],
  ['/', { alwaysStat: true }],
  ['/', { followSymlinks: false }],
  [['/', import.meta.dirname], {}],
  ['.', { cwd: '/' }],
])('%o with %o is told with what is in it', async (paths, options) => {
  const told: string[] = []
  const watcher = watch(paths, { depth: 0, ...options })
  onTestFinished(() => watcher.close())
  watcher
    .on('all', (event, path) => told.push(`${event} ${path}`))
    .on('error', (error) => told.push(`${error}`))
  await new Promise<void>((resolve) => watcher.once('ready', resolve))
  const above = options.cwd === undefined ? '/' : ''
  const dirs = names.filter((entry) => entry.isDirectory()).map(({ name }) => `addDir ${above}${name}`)
  if (options.ignoreInitial) expect(told).toEqual([])
  else expect(told).toEqual(expect.arrayContaining([`addDir ${above}`, ...dirs]))
  expect(Object.keys(watcher.getWatched())).toContain(above || '.')
})

test('it ends, and may be unwatched', async () => {
  const told: string[] = []
  const watcher = watch('/', { depth: 0, ignoreInitial: true }).on('all', (event, path) =>
    told.push(`${event} ${path}`),
  )
  await new Promise<void>((resolve) => watcher.once('ready', resolve))
  watcher.unwatch('/').add(scratch())
  await watcher.close()
  expect(told).toEqual([])
})
