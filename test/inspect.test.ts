// The console.log() output of this package's objects: the subject of each, and no field of its own.
import { mkdirSync, writeFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { Inotify } from '../src/inotify/inotify.ts'
import { mirror } from '../src/mirror/mirror.ts'
import { scratch } from './support/scratch.ts'
import { watching } from './watch/support.ts'

const shown = (value: unknown) => inspect(value, { breakLength: Number.POSITIVE_INFINITY })

test('a watcher', async () => {
  const roots = [scratch(), scratch()]
  const { watcher } = await watching(roots)
  const inQuotes = roots.map((root) => `'${root}'`).join(', ')
  // The output of a promise is longer once some code in the process has used async_hooks.
  const begin = `{ watcher: Watcher { open: true, roots: [ ${inQuotes} ], ready: Promise { undefined`
  expect(shown({ watcher }).slice(0, begin.length)).toBe(begin)
  await watcher.close()
  expect(shown(watcher)).toContain('Watcher { open: false')
})

test('an inotify instance', () => {
  using inotify = new Inotify()
  expect(shown(inotify)).toBe('Inotify { open: true, delivering: false, iterators: 0 }')
  inotify.on('events', () => {})
  expect(shown(inotify)).toBe('Inotify { open: true, delivering: true, iterators: 0 }')
  inotify.close()
  expect(shown(inotify)).toContain('open: false, delivering: false')
})

test('a mirror', async () => {
  const [source, target] = [scratch(), scratch('/dev/shm')]
  mkdirSync(`${source}/directory`)
  writeFileSync(`${source}/a`, '')
  const mirrored = await mirror(source, target)
  onTestFinished(() => mirrored.close())
  const place = (path: string) => `{ path: '${path}', type: '[a-z0-9]+' }`
  expect(shown(mirrored)).toMatch(
    new RegExp(
      `^Mirror { state: 'mirroring', sources: \\[ ${place(source)} \\], target: ${place(target)}, skipped: 0 }$`,
    ),
  )
})
