// Files on mounts that are polled: a program that watches each of them has each directory polled once. Played
// on a mount with events, because the sharing is the same.
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { watchPolled } from '../../src/fs/polls.ts'
import { scratch } from '../support/scratch.ts'

/** Watchers that are open. */
const watchers = vi.hoisted(() => ({ open: 0 }))
vi.mock('../../src/watch/watcher.ts', async (load) => {
  const module = await load<typeof import('../../src/watch/watcher.ts')>()
  class Watcher extends module.Watcher<Buffer> {
    constructor(...parameters: ConstructorParameters<typeof module.Watcher>) {
      super(...parameters)
      watchers.open++
      this.once('close', () => watchers.open--)
    }
  }
  return { ...module, Watcher }
})
const openWatchers = () => watchers.open

function play() {
  const directory = scratch()
  /** The events, by the name that is watched. */
  const told = new Map<string, Set<string>>()
  const ends = new Map<string, () => void>()
  const watch = (name: string) => {
    const heard = new Set<string>()
    told.set(name, heard)
    const tell = (type: string, of: Buffer | null | undefined) => void heard.add(`${type} ${of}`)
    const fail = (error: Error) => void heard.add(error.message)
    ends.set(name, watchPolled(join(directory, name), { tell, fail }))
  }
  const end = (name: string) => ends.get(name)?.()
  return { directory, told, watch, end, at: (name: string) => join(directory, name) }
}

test('files, and their directory, are watched by one watcher, and each is told of itself', async () => {
  // The watchers of the test before close in their own time.
  await expect.poll(openWatchers).toBe(0)
  const { told, watch, end, at } = play()
  const names = ['a', 'b', 'c', 'd', 'é']
  for (const name of names) writeFileSync(at(name), '')
  for (const name of ['', ...names]) watch(name)
  await expect.poll(openWatchers).toBe(1)
  const heardBy = (name: string) => [...(told.get(name) ?? [])]

  // There is no event for the start of the watch, so this writes until a change comes.
  await expect
    .poll(() => {
      writeFileSync(at('a'), `${performance.now()}`)
      return heardBy('a')
    })
    .toEqual(['change undefined'])
  writeFileSync(at('new'), '')
  rmSync(at('b'))
  renameSync(at('c'), at('d'))
  writeFileSync(at('é'), 'x')
  await expect.poll(() => heardBy('b')).toEqual(['rename undefined'])
  await expect.poll(() => heardBy('c')).toEqual(['rename undefined'])
  await expect.poll(() => heardBy('d')).toEqual(['rename undefined'])
  await expect.poll(() => heardBy('é')).toEqual(['change undefined'])
  await expect
    .poll(() => heardBy(''))
    .toEqual(
      expect.arrayContaining(['change a', 'rename new', 'rename b', 'rename c', 'rename d', 'change é']),
    )
  expect(heardBy('a')).toEqual(['change undefined'])

  // A watcher that has ended gets no more events; the others do.
  for (const name of ['a', '']) end(name)
  const last = heardBy('').length
  writeFileSync(at('b'), 'again')
  writeFileSync(at('a'), 'again')
  await expect.poll(() => heardBy('b')).toContain('rename undefined')
  expect(heardBy('')).toHaveLength(last)
  for (const name of names) end(name)
  await expect.poll(openWatchers).toBe(0)

  watch('d')
  await expect
    .poll(() => {
      writeFileSync(at('d'), `${performance.now()}`)
      return heardBy('d')
    })
    .toEqual(['change undefined'])
  end('d')
})

test('the first two files of a directory are watched alone, as it may be large; all further ones together', async () => {
  // The watchers of the test before close in their own time.
  await expect.poll(openWatchers).toBe(0)
  const { told, watch, end, at } = play()
  const names = Array.from({ length: 20 }, (_, i) => `f${i}`)
  for (const name of names) writeFileSync(at(name), '')
  for (const [i, name] of names.entries()) {
    watch(name)
    await expect.poll(openWatchers).toBe(Math.min(i + 1, 3))
  }
  for (const name of ['f0', 'f19'])
    await expect
      .poll(() => {
        writeFileSync(at(name), `${performance.now()}`)
        return [...(told.get(name) ?? [])]
      })
      .toEqual(['change undefined'])
  expect(told.get('f1')?.size).toBe(0)
  for (const name of names) end(name)
  await expect.poll(openWatchers).toBe(0)
})

test('a file is told of that its directory is gone', async () => {
  const { told, watch, end, at } = play()
  mkdirSync(at('d'))
  for (const name of ['d/a', 'd/b']) writeFileSync(at(name), '')
  for (const name of ['d/a', 'd/b']) watch(name)
  await expect
    .poll(() => {
      for (const name of ['d/a', 'd/b']) writeFileSync(at(name), `${performance.now()}`)
      return ['d/a', 'd/b'].map((name) => told.get(name)?.size)
    })
    .toEqual([1, 1])
  renameSync(at('d'), at('e'))
  for (const name of ['d/a', 'd/b'])
    await expect.poll(() => [...(told.get(name) ?? [])]).toContain('rename undefined')
  for (const name of ['d/a', 'd/b']) end(name)
})

test('a link is watched by what it leads to', async () => {
  const { told, watch, end, at } = play()
  mkdirSync(at('d'))
  writeFileSync(at('d/file'), '')
  symlinkSync('d/file', at('link'))
  watch('link')
  await expect
    .poll(() => {
      writeFileSync(at('d/file'), `${performance.now()}`)
      return [...(told.get('link') ?? [])]
    })
    .toEqual(['change undefined'])
  end('link')
})
