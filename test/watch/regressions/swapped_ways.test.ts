// The way of a path is looked at and then watched. An entry that is replaced between the two has no event,
// nor has one without a watch.
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
import { followingAs, followSymlinks } from './observed.ts'
import { replaceLink } from './replace_link.ts'

// Longer than any test.
const NEVER = 1_000_000

/** Watches paths below a directory by events alone. `told` waits for the next changes, without a sync(). */
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
    // A file that takes its place is polled as well.
    renameSync(path, join(base, 'n'))
    await told('lost f')
    renameSync(join(base, 'n'), path)
    await told('restored f', 'modify file f')
    expect((await child.coverage())[0]?.backend).toBe('poll')
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

describe('a link that is followed, over a directory and out of it again', () => {
  async function followed(
    to: string,
    system: (base: string) => Partial<WatchSystem> = () => ({}),
    options: object = {},
  ) {
    const base = scratch()
    for (const name of ['x/x', 'y', 'r', 'nothing']) mkdirSync(join(base, name), { recursive: true })
    writeFileSync(join(base, 'y/f'), '')
    symlinkSync(`../${to}`, join(base, 'r/l'))
    const watched = { recursive: true, followSymlinks: true, ...options }
    return { base, ...(await watchingBelow(base, ['r'], system(base), watched)) }
  }

  test('to a directory', async () => {
    const { base, told } = await followed('x/../y')
    renameSync(join(base, 'x'), join(base, 'z'))
    await told('delete directory r/l', 'create symlink r/l')
    renameSync(join(base, 'z'), join(base, 'x'))
    await told('delete symlink r/l', 'create directory r/l', 'create file r/l/f')
  })

  test('to a file: without the directory, it leads nowhere', async () => {
    const { base, told } = await followed('x/../y/f')
    renameSync(join(base, 'x'), join(base, 'z'))
    await told('modify symlink r/l')
    renameSync(join(base, 'z'), join(base, 'x'))
    await told('modify symlink r/l')
    appendFileSync(join(base, 'y/f'), 'x')
    await told('modify symlink r/l')
  })

  test('which lies where no event tells of it: it is polled', async () => {
    const silent = (base: string): Partial<WatchSystem> => ({
      choose: async (path) =>
        path.startsWith(join(base, 'x')) ? { backend: 'poll', why: 'so asked' } : await linux.choose(path),
      survey: async (paths) => await linux.survey(paths.filter((path) => !path.startsWith(join(base, 'x')))),
      openInotify: (options, owner) => {
        const inotify: InotifyInstance = linux.openInotify(options, owner)
        const add = inotify.add.bind(inotify)
        inotify.add = (path, mask) =>
          add(`${path}`.startsWith(join(base, 'x')) ? join(base, 'nothing') : path, mask)
        return inotify
      },
    })
    const { base, told } = await followed('x/x/../../y', silent, { backend: 'auto', interval: 20 })
    renameSync(join(base, 'x/x'), join(base, 'x/z'))
    await told('delete directory r/l', 'create symlink r/l')
  })
})

describe.each(['f', '.'])(
  'a link on the way that is replaced between the look and the watch, to %s',
  (end) => {
    // The choice of a source looks at the way as well.
    test.each([1, 2, 3])('the look: %i', async (nth) => {
      const base = scratch()
      for (const name of ['one', 'two']) {
        mkdirSync(join(base, name, 'below/d'), { recursive: true })
        writeFileSync(join(base, name, 'below/d/f'), name)
      }
      symlinkSync('one', join(base, 'link'))
      const root = join('link/below/d', end)
      let looks = 0
      const follow: typeof followSymlinks = async (path) => {
        const way = await followSymlinks(path)
        if (++looks === nth) replaceLink(base, 'link', 'two')
        return way
      }
      const { changes } = await watching(
        join(base, root),
        { backend: 'inotify', interval: NEVER },
        { ...linux, ...followingAs(follow) },
      )
      // For an earlier look, this second replacement makes sure that the watcher looks once more.
      if (looks < nth) replaceLink(base, 'link', 'two')
      await expect.poll(() => looks).toBeGreaterThan(nth)
      renameSync(join(base, 'two/below'), join(base, 'two/moved'))
      await expect.poll(() => story(changes, base).at(-1)).toBe(`lost ${root}`)
    })
  },
)

test.each([
  ['f', 2],
  ['r', 1],
])('a directory on the way that is replaced between two watches of it, to %s', async (end, nth) => {
  const base = scratch()
  for (const name of ['d', 'new']) {
    mkdirSync(join(base, name, 'e/r'), { recursive: true })
    writeFileSync(join(base, name, 'e/f'), name)
  }
  let adds = 0
  const openInotify = (options: InotifyOptions): InotifyInstance => {
    const inotify = new Inotify(options)
    const add = inotify.add.bind(inotify)
    inotify.add = (path, mask) => {
      const wd = add(path, mask)
      if (path !== join(base, 'd/e') || ++adds !== nth) return wd
      renameSync(join(base, 'd'), join(base, 'old'))
      renameSync(join(base, 'new'), join(base, 'd'))
      return wd
    }
    return inotify
  }
  const root = `d/e/${end}`
  const { changes } = await watching(
    join(base, root),
    { backend: 'inotify', interval: NEVER },
    { openInotify },
  )
  renameSync(join(base, 'd/e'), join(base, 'd/moved'))
  await expect.poll(() => story(changes, base).at(-1)).toBe(`lost ${root}`)
  expect(adds).toBeGreaterThanOrEqual(nth)
})
