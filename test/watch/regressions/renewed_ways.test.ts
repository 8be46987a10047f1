// The way to a root may change while its target stays the same, or while events are lost. The new way is then
// watched, so that the next change is told without a sync().
import { appendFileSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { Inotify, InotifyError, type InotifyOptions } from '../../../src/index.ts'
import type { InotifyInstance } from '../../../src/watch/inotify_instance.ts'
import { linux } from '../../../src/watch/linux.ts'
import type { WatchSystem } from '../../../src/watch/system.ts'
import { scratch } from '../../support/scratch.ts'
import { story, watching } from '../support.ts'
import { losing } from './losing.ts'
import { replaceLink } from './replace_link.ts'
import { stepping } from './stepping.ts'

// Longer than any test.
const NEVER = 1_000_000

// A file of this name keeps the times of the first look, as on a file system whose clock has not ticked.
const STOPPED = 'stopped'
vi.mock('node:fs/promises', async (original) => {
  const module = await original<typeof import('node:fs/promises')>()
  let first: { mtimeNs: bigint; ctimeNs: bigint } | undefined
  const stat = async (...args: Parameters<typeof module.stat>) => {
    const stats = await module.stat(...args)
    if (!String(args[0]).endsWith(STOPPED) || !('mtimeNs' in stats)) return stats
    first ??= { mtimeNs: stats.mtimeNs, ctimeNs: stats.ctimeNs }
    return Object.assign(stats, first)
  }
  return { ...module, stat }
})

/** Watches a path below a directory, and returns the changes since the last call. */
async function watchingBelow(
  base: string,
  name: string,
  { system, lose = () => {} }: { system: Pick<WatchSystem, 'openInotify'>; lose?(): void } = losing(),
) {
  const options = { backend: 'inotify', interval: NEVER } as const
  const { changes, watcher } = await watching(join(base, name), options, system)
  const told = () => story(changes.splice(0), base)
  const untilRecovered = () => expect.poll(() => changes.some(({ type }) => type === 'recovered')).toBe(true)
  return { changes, watcher, lose, told, untilRecovered }
}

test('a file that was replaced while events were lost: what is written to it afterwards is told', async () => {
  const base = scratch()
  const path = join(base, 'f')
  writeFileSync(path, '')
  writeFileSync(join(base, 'new'), 'x')
  const { changes, lose, told, untilRecovered } = await watchingBelow(base, 'f')
  lose()
  renameSync(join(base, 'new'), path)
  await untilRecovered()
  expect(told()).toEqual(['overflow f', 'modify file f', 'recovered f'])
  appendFileSync(path, 'x')
  await expect.poll(() => changes.length).toBeGreaterThan(0)
  expect(told()).toEqual(['modify file f'])
})

test('a file that sync() alone has found to be another: what is written to it afterwards is told', async () => {
  const base = scratch()
  for (const name of ['above', 'other']) {
    mkdirSync(join(base, name))
    writeFileSync(join(base, name, 'f'), name)
  }
  symlinkSync('above', join(base, 'way'))
  const openInotify = (options: InotifyOptions): InotifyInstance => {
    const inotify = new Inotify(options)
    const add = inotify.add.bind(inotify)
    inotify.add = (path, mask) => {
      // A watcher that may not read a directory has no watch of it, and no event when a link in it is
      // replaced.
      if (`${path}` === base)
        throw new InotifyError({ errno: 'EACCES', syscall: 'inotify_add_watch', path: base })
      return add(path, mask)
    }
    return inotify
  }
  const { changes, watcher, told } = await watchingBelow(base, 'way/f', { system: { openInotify } })
  replaceLink(base, 'way', 'other')
  await watcher.sync()
  expect(told()).toEqual(['modify file way/f'])
  appendFileSync(join(base, 'other/f'), 'x')
  await expect.poll(() => changes.length).toBeGreaterThan(0)
  expect(told()).toEqual(['modify file way/f'])
})

test('a file that was written in the tick in which it had been told, and its event lost', async () => {
  const base = scratch()
  const path = join(base, STOPPED)
  writeFileSync(path, 'x')
  const { lose, told, untilRecovered } = await watchingBelow(base, STOPPED)
  lose()
  writeFileSync(path, 'y')
  await untilRecovered()
  expect(told()).toEqual([`overflow ${STOPPED}`, `modify file ${STOPPED}`, `recovered ${STOPPED}`])
})

test('a file that is polled alone has lost no event with the others: what was told of it is not told again', async () => {
  const base = scratch()
  const other = scratch()
  const polled = join(other, 'f')
  writeFileSync(polled, '')
  const { system, lose } = losing()
  // Chooses polling by the path, as for a file system without events.
  const choose: WatchSystem['choose'] = (path) =>
    path === polled ? Promise.resolve({ backend: 'poll', why: 'so asked' }) : linux.choose(path)
  const { changes, watcher } = await watching([base, polled], { interval: NEVER }, { ...system, choose })
  appendFileSync(polled, 'x')
  await watcher.sync()
  expect(story(changes.splice(0), other)).toEqual(['modify file f'])
  lose()
  writeFileSync(join(base, 'f'), '')
  await expect.poll(() => changes.some(({ type }) => type === 'recovered')).toBe(true)
  // A polled file has no overflow either.
  expect(changes.map(({ type, path }) => [type, path])).toEqual([
    ['overflow', base],
    ['create', join(base, 'f')],
    ['recovered', base],
  ])
})

test.each(['told', 'lost'])(
  'a link on the way that leads there by another, %s: that one is watched',
  async (by) => {
    const base = scratch()
    for (const name of ['one', 'two']) mkdirSync(join(base, name))
    for (const name of ['root', 'middle']) symlinkSync('one', join(base, name))
    const { changes, watcher, lose, told, untilRecovered } = await watchingBelow(base, 'root')
    if (by === 'lost') lose()
    replaceLink(base, 'root', 'middle')
    if (by === 'lost') await untilRecovered()
    else await watcher.sync()
    expect(told()).toEqual(by === 'lost' ? ['overflow root', 'recovered root'] : [])
    replaceLink(base, 'middle', 'two')
    await expect.poll(() => changes.some(({ type }) => type === 'restored')).toBe(true)
    expect(told()).toEqual(['lost root', 'restored root'])
  },
)

test('a link on the way that is replaced while what it led to is listed for the first time', async () => {
  const base = scratch()
  mkdirSync(join(base, 'one/below'), { recursive: true })
  mkdirSync(join(base, 'two'))
  symlinkSync('one', join(base, 'root'))
  const steps = stepping()
  steps.between = (path) => {
    if (!path.endsWith('/below')) return
    steps.between = undefined
    replaceLink(base, 'root', 'two')
  }
  const { changes } = await watching(
    join(base, 'root'),
    { recursive: true, backend: 'inotify', interval: NEVER },
    steps.system,
  )
  await expect.poll(() => changes.some(({ type }) => type === 'restored')).toBe(true)
  // The entry below was not found, and so was never told.
  expect(story(changes, base)).toEqual(['lost root', 'restored root'])
})
