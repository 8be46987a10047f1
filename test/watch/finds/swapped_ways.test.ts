// What a path leads over is looked at, and then watched: what is replaced between the two is told by no event, nor is what nobody thought of watching.
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Inotify, InotifyError, type InotifyOptions } from '../../../src/index.ts'
import type { InotifyInstance } from '../../../src/watch/inotify_instance.ts'
import { linux } from '../../../src/watch/linux.ts'
import type { WatchSystem } from '../../../src/watch/system.ts'
import { isRoot, NOBODY } from '../../support/others.ts'
import { scratch } from '../../support/scratch.ts'
import { isBuilt, WatchingChild } from '../child.ts'
import { story, watching } from '../support.ts'
import { stepping } from './stepping.ts'

// Longer than any test.
const NEVER = 1_000_000

/** A watcher of paths below a directory, by events alone; `told` is what the next ones tell, without a sync(). */
async function watchingBelow(
  base: string,
  names: string[],
  system: Partial<WatchSystem> = {},
  options: object = {},
) {
  const paths = names.map((name) => join(base, name))
  const { changes } = await watching(paths, { backend: 'inotify', interval: NEVER, ...options }, system)
  const told = async (...expected: string[]) => {
    await expect.poll(() => story(changes, base)).toEqual(expected)
    changes.length = 0
  }
  return { told }
}

function replaceLink(base: string, name: string, to: string): void {
  symlinkSync(to, join(base, 'new'))
  renameSync(join(base, 'new'), join(base, name))
}

test('a file that has a second name is replaced where the directory may not be read: the new one is watched', async () => {
  const base = scratch()
  const path = join(base, 'f')
  writeFileSync(path, '')
  writeFileSync(join(base, 'n'), 'x')
  linkSync(path, join(base, 'f~'))
  const openInotify = (options: InotifyOptions): InotifyInstance => {
    const inotify = new Inotify(options)
    const add = inotify.add.bind(inotify)
    inotify.add = (watched, mask) => {
      if (watched === base)
        throw new InotifyError({ errno: 'EACCES', syscall: 'inotify_add_watch', path: base })
      return add(watched, mask)
    }
    return inotify
  }
  const { told } = await watchingBelow(base, ['f'], { openInotify })
  renameSync(join(base, 'n'), path)
  await told('modify file f')
  appendFileSync(path, 'x')
  await told('modify file f')
})

test.skipIf(!isRoot || !isBuilt)(
  'a file that is replaced by one that may not be read is polled (needs root and dist)',
  async () => {
    const base = scratch()
    chmodSync(base, 0o755)
    const path = join(base, 'f')
    writeFileSync(path, '')
    writeFileSync(join(base, 'n'), 'x')
    chmodSync(join(base, 'n'), 0o600)
    const child = await WatchingChild.start(path, { interval: 20, uid: NOBODY })
    const told = async (...expected: string[]) => {
      await expect.poll(() => story(child.changes, base)).toEqual(expected)
      child.changes.length = 0
    }
    renameSync(join(base, 'n'), path)
    await told('modify file f')
    await expect.poll(async () => (await child.coverage())[0]?.backend).toBe('poll')
    expect(child.errors).toMatchObject([{ code: 'EACCES', path }])
    appendFileSync(path, 'x')
    await told('modify file f')
  },
)

test.each(['y/f', 'y'])(
  'a way over a directory and out of it again, to %s: that one is watched, too',
  async (to) => {
    const base = scratch()
    for (const name of ['x', 'y']) mkdirSync(join(base, name))
    writeFileSync(join(base, 'y/f'), '')
    symlinkSync(`x/../${to}`, join(base, 'l'))
    const { told } = await watchingBelow(base, ['l'])
    renameSync(join(base, 'x'), join(base, 'z'))
    await told('lost l')
  },
)

test('a link that is followed, over a directory and out of it again', async () => {
  const base = scratch()
  for (const name of ['x', 'y', 'r']) mkdirSync(join(base, name))
  writeFileSync(join(base, 'y/f'), '')
  symlinkSync('../x/../y', join(base, 'r/l'))
  const { told } = await watchingBelow(base, ['r'], {}, { recursive: true, followSymlinks: true })
  renameSync(join(base, 'x'), join(base, 'z'))
  await told('delete directory r/l', 'create symlink r/l')
})

describe.each(['f', '.'])(
  'a link on the way that is replaced between the look and the watch, to %s',
  (end) => {
    // A way is looked at for the choice of a source, too.
    test.each([1, 2, 3])('the look: %i', async (nth) => {
      const base = scratch()
      for (const name of ['one', 'two']) {
        mkdirSync(join(base, name, 'below/d'), { recursive: true })
        writeFileSync(join(base, name, 'below/d/f'), name)
      }
      symlinkSync('one', join(base, 'link'))
      const root = join('link/below/d', end)
      let looks = 0
      const followSymlinks: WatchSystem['followSymlinks'] = async (path) => {
        const way = await linux.followSymlinks(path)
        if (++looks === nth) replaceLink(base, 'link', 'two')
        return way
      }
      const { changes } = await watching(
        join(base, root),
        { backend: 'inotify', interval: NEVER },
        { ...linux, followSymlinks },
      )
      // What was there before may have been told by then.
      if (looks < nth) replaceLink(base, 'link', 'two')
      await expect.poll(() => looks).toBeGreaterThan(nth)
      renameSync(join(base, 'two/below'), join(base, 'two/moved'))
      await expect.poll(() => story(changes, base).at(-1)).toBe(`lost ${root}`)
    })
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
    return { open, settled: () => mounts.settled(), close: () => mounts.close() }
  }
  const seen: boolean[] = []
  const steps = stepping()
  steps.between = () => void seen.push(isOpen)
  await watchingBelow(base, ['.'], { ...steps.system, watchMounts }, { recursive: true })
  expect(seen).toEqual([true, true])
})
