import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { InotifyError } from '../../../src/index.ts'
import { Walker } from '../../../src/watch/scan/walker.ts'
import { scratch } from '../../support/scratch.ts'
import { story, watching } from '../support.ts'
import { failingWalks } from './failing_walks.ts'

test('what was found before a thread was missing is told, and the rest when there is one', async () => {
  const root = scratch()
  // Something is ignored: so directories are listed level by level, each by a walk of its own.
  const { told, watcher } = await watching(root, {
    recursive: true,
    backend: 'inotify',
    ignore: [/ignored$/],
  })
  const errors: unknown[] = []
  watcher.on('error', (error) => errors.push(error))
  const walk = Walker.prototype.walk
  let failures = 0
  const spy = vi.spyOn(Walker.prototype, 'walk').mockImplementation(function (this: Walker, ...args) {
    const isDeeper = args[0].some(({ rel }) => rel === 'a/b')
    if (!isDeeper || failures++ > 0) return walk.apply(this, args)
    return Promise.reject(new InotifyError({ errno: 'EAGAIN', syscall: 'walk' }))
  })
  onTestFinished(() => spy.mockRestore())
  mkdirSync(join(root, 'a/b/c'), { recursive: true })
  writeFileSync(join(root, 'a/b/c/file'), '')
  expect(story(await told(), root)).toEqual([
    'create directory a',
    'create directory a/b',
    'create directory a/b/c',
    'create file a/b/c/file',
  ])
  expect(errors).toMatchObject([{ code: 'EAGAIN' }])
})

test('each shortage is told: one that is over where something was to be listed is over for what was to be looked at', async () => {
  const root = scratch()
  const { watcher, told, changes } = await watching(root, {
    recursive: true,
    backend: 'inotify',
    interval: 1_000_000,
  })
  const errors: unknown[] = []
  watcher.on('error', (error) => errors.push(error))
  const walk = Walker.prototype.walk
  let failures = 0
  const spy = vi.spyOn(Walker.prototype, 'walk').mockImplementation(function (this: Walker, ...args) {
    if (failures === 0) return walk.apply(this, args)
    failures--
    return Promise.reject(new InotifyError({ errno: 'EAGAIN', syscall: 'walk' }))
  })
  onTestFinished(() => spy.mockRestore())
  const makes = [(path: string) => writeFileSync(path, ''), (path: string) => void mkdirSync(path)]
  for (const [i, make] of makes.entries()) {
    failures = 3
    make(join(root, `${i}`))
    await expect.poll(() => failures).toBe(0)
    await expect.poll(() => story(changes, root).some((line) => line.startsWith('create'))).toBe(true)
    await told()
    await told()
    expect(errors).toHaveLength(i + 1)
  }
})

test.each(['a file', 'a directory'])(
  '%s comes at a root of which nothing was ever seen, and there is no thread to look at it: it is found when there is one',
  async (what) => {
    const root = join(scratch(), 'root')
    const { told } = await watching(root, { recursive: true, backend: 'inotify', interval: 1_000_000 })
    const walk = Walker.prototype.walk
    let isShort = true
    const spy = vi.spyOn(Walker.prototype, 'walk').mockImplementation(function (this: Walker, ...args) {
      if (!isShort) return walk.apply(this, args)
      return Promise.reject(new InotifyError({ errno: 'EMFILE', syscall: 'walk' }))
    })
    onTestFinished(() => spy.mockRestore())
    if (what === 'a file') writeFileSync(root, '')
    else mkdirSync(root)
    expect(await told()).toEqual([])
    isShort = false
    expect(story(await told(), root)).toEqual(['restored .', ...(what === 'a file' ? ['create file .'] : [])])
  },
)

test('a file comes in the place of a directory at a root of which nothing was ever told, as there was no watch for it: it is found', async () => {
  const root = join(scratch(), 'root')
  const { faults } = failingWalks()
  const { told } = await watching(root, { recursive: true, backend: 'inotify', interval: 1_000_000 })
  faults.set('root', { code: 'ENOSPC', of: 'watch' })
  mkdirSync(root)
  expect(await told()).toEqual([])
  faults.clear()
  rmdirSync(root)
  writeFileSync(root, '')
  expect(story(await told(), root)).toEqual(['restored .', 'create file .'])
})
