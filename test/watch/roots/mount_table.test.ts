// The mount table tells changes that have no event: from before the first look on, or else the watcher
// reports that the table does not.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { InotifyError } from '../../../src/index.ts'
import { linux } from '../../../src/watch/linux.ts'
import type { WatchSystem } from '../../../src/watch/system.ts'
import { scratch } from '../../support/scratch.ts'
import { followingAs, followSymlinks } from '../regressions/observed.ts'
import { stepping } from '../regressions/stepping.ts'
import { watching } from '../support.ts'

// Longer than any test.
const NEVER = 1_000_000

test('that the mount table cannot be watched is said once, however often a root is looked for', async () => {
  const base = scratch()
  const path = join(base, 'f')
  let looks = 0
  const open = async () => {
    looks++
    throw new InotifyError({ errno: 'EMFILE', syscall: 'open', path: '/proc/self/mountinfo' })
  }
  const watchMounts = () => ({ open, settled: async () => {}, partial: () => [], close: () => {} })
  const { watcher } = await watching([], { interval: 10 }, { watchMounts })
  const errors: Error[] = []
  watcher.on('error', (error) => errors.push(error))
  await watcher.add(path)
  await expect.poll(() => looks).toBeGreaterThan(3)
  expect(errors).toMatchObject([{ code: 'EMFILE' }])
})

test.each(['r', 'r/f'])(
  'something mounted between the choice of a source and the first look, at %s: another is chosen',
  async (name) => {
    const base = scratch()
    mkdirSync(join(base, 'r'))
    writeFileSync(join(base, 'r/f'), '')
    let choices = 0
    const choose: WatchSystem['choose'] = async (path) =>
      ++choices === 1 ? await linux.choose(path) : { backend: 'poll', why: 'so asked' }
    let tell: (points: string[], vacant: string[]) => void = () => {}
    const watchMounts: WatchSystem['watchMounts'] = (changed) => {
      tell = changed
      return linux.watchMounts(changed)
    }
    const { watcher } = await watching(join(base, name), { interval: NEVER }, { choose, watchMounts })
    tell([join(base, 'elsewhere')], [])
    await watcher.sync()
    expect(watcher.coverage()[0]?.backend).toBe('inotify')
    tell([join(base, 'r')], [])
    await expect.poll(() => watcher.coverage()[0]?.backend).toBe('poll')
  },
)

test('the mount table is watched before anything is listed', async () => {
  const base = scratch()
  mkdirSync(join(base, 'below'))
  let isOpen = false
  const watchMounts: WatchSystem['watchMounts'] = (changed) => {
    const mounts = linux.watchMounts(changed)
    const open = async () => {
      await mounts.open()
      isOpen = true
    }
    return {
      open,
      settled: () => mounts.settled(),
      partial: (isAnew) => mounts.partial(isAnew),
      close: () => mounts.close(),
    }
  }
  const seen: boolean[] = []
  const steps = stepping()
  steps.between = () => void seen.push(isOpen)
  await watching(base, { recursive: true, interval: NEVER }, { ...steps.system, watchMounts })
  expect(seen).toEqual([true, true])
})

test('a mount has only those files looked at whose way leads over it', async () => {
  const base = scratch()
  mkdirSync(join(base, 'd'))
  for (const name of ['a', 'd/b']) writeFileSync(join(base, name), '')
  let tell: (points: string[], vacant: string[]) => void = () => {}
  const watchMounts: WatchSystem['watchMounts'] = (changed) => {
    tell = changed
    return linux.watchMounts(changed)
  }
  const followed: string[] = []
  const follow: typeof followSymlinks = (path) => {
    followed.push(path)
    return followSymlinks(path)
  }
  const files = [join(base, 'a'), join(base, 'd/b')]
  const { watcher } = await watching(files, { interval: NEVER }, { watchMounts, ...followingAs(follow) })
  followed.length = 0
  tell([join(base, 'elsewhere')], [])
  await watcher.sync()
  expect(followed).toEqual([])
  tell([join(base, 'd')], [])
  await watcher.sync()
  expect(new Set(followed)).toEqual(new Set([join(base, 'd/b')]))
})
