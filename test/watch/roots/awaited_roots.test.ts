// A missing root is found by events of the directories above, without any timer.

import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Change, Inotify, InotifyError, type WatchOptions } from '../../../src/index.ts'
import { type Clock, systemClock } from '../../../src/watch/clock.ts'
import { linux } from '../../../src/watch/linux.ts'
import type { WatchSystem } from '../../../src/watch/system.ts'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'
import { isBuilt, WatchingChild } from '../child.ts'
import { losing } from '../regressions/losing.ts'
import { observed } from '../regressions/observed.ts'
import { story, watching } from '../support.ts'

// No timer can have found a change.
const NEVER = 1_000_000

const ENDS = /^(lost|restored) /

/** Returns a clock that records the ms of all running timers. */
function observedClock(): { clock: Clock; waiting: Set<number> } {
  const waiting = new Set<number>()
  const after: Clock['after'] = (ms, task) => {
    waiting.add(ms)
    const cancel = systemClock.after(ms, () => {
      waiting.delete(ms)
      task()
    })
    return () => {
      waiting.delete(ms)
      cancel()
    }
  }
  return { clock: { ...systemClock, after }, waiting }
}

/**
 * Watches a missing path, relative to a new directory. `comes` waits until the path and its entries are told.
 * Does not call sync(), which would look at the path.
 */
async function awaiting(
  path: string,
  prepare: (base: string) => void = () => {},
  options: WatchOptions = {},
  system: Partial<WatchSystem> = {},
) {
  const base = scratch()
  prepare(base)
  const root = join(base, path)
  const { clock, waiting } = observedClock()
  const watched = await watching(
    root,
    { backend: 'inotify', recursive: true, interval: NEVER, ...options },
    { clock, ...system },
  )
  const { changes } = watched
  const comes = async (...entries: string[]) => {
    const expected = entries.map((entry) => `create ${entry}`)
    // A directory that was watched under another path may be told to be lost once more, because its event was
    // on the way.
    const isThere = (lines: readonly string[]) =>
      lines.findLast((line) => ENDS.test(line)) === `restored ${path}` &&
      expected.every((line) => lines.includes(line))
    await expect.poll(() => story(changes, base)).toSatisfy(isThere)
    changes.length = 0
  }
  const goes = async () => {
    await expect.poll(() => story(changes, base).at(-1)).toBe(`lost ${path}`)
    changes.length = 0
  }
  return { ...watched, base, root, waiting, comes, goes }
}

const made = (base: string, path: string) => {
  mkdirSync(join(base, path), { recursive: true })
  writeFileSync(join(base, path, 'file'), '')
}

test('nobody waits for it, and coverage() says so', async () => {
  const { watcher, waiting, root, base, comes } = await awaiting('a/b/root', undefined, { interval: 5 })
  expect([...waiting]).toEqual([])
  expect(watcher.coverage()).toMatchObject([
    {
      path: root,
      backend: 'inotify',
      why: expect.stringContaining('nearest directory above it'),
      directories: 0,
    },
  ])
  expect(watcher.coverage()[0]?.uncovered).toMatchObject([{ path: root, error: { code: 'ENOENT' } }])
  made(base, 'a/b/root')
  await comes('file a/b/root/file')
  await expect.poll(() => [...waiting]).toEqual([])
  expect(watcher.coverage()).toMatchObject([
    { path: root, backend: 'inotify', directories: 1, uncovered: [] },
  ])
})

describe('it is found at once when', () => {
  test('the directories on the way come one after another', async () => {
    const { base, comes, waiting } = await awaiting('a/b/c/root')
    for (const path of ['a', 'a/b', 'a/b/c']) mkdirSync(join(base, path))
    made(base, 'a/b/c/root')
    await comes('file a/b/c/root/file')
    await expect.poll(() => [...waiting]).toEqual([])
  })

  test('each of them has been watched before the next comes', async () => {
    const system = observed(() => {})
    let added: string[] = []
    const openInotify: WatchSystem['openInotify'] = (options) => {
      const inotify = new Inotify(options)
      const add = inotify.add.bind(inotify)
      inotify.add = (path, mask) => {
        const wd = add(path, mask)
        added.push(path.toString())
        return wd
      }
      return inotify
    }
    const { base, comes } = await awaiting('a/b/c/root', undefined, {}, { ...system, openInotify })
    for (const path of ['a', 'a/b', 'a/b/c']) {
      added = []
      mkdirSync(join(base, path))
      await expect.poll(() => added).toContain(join(base, path))
    }
    made(base, 'a/b/c/root')
    await comes('file a/b/c/root/file')
  })

  test('each of ten comes as soon as the one before is watched', async () => {
    const names = [...'abcdefghij']
    const openInotify: WatchSystem['openInotify'] = (options) => {
      const inotify = new Inotify(options)
      const add = inotify.add.bind(inotify)
      inotify.add = (path, mask) => {
        const wd = add(path, mask)
        const last = basename(path.toString())
        const next = join(path.toString(), names[names.indexOf(last) + 1] ?? '')
        if (names.includes(last) && !existsSync(next)) mkdirSync(next)
        return wd
      }
      return inotify
    }
    const { base, comes } = await awaiting(`${names.join('/')}/root`, undefined, {}, { openInotify })
    mkdirSync(join(base, 'a'))
    await expect.poll(() => existsSync(join(base, ...names))).toBe(true)
    made(base, `${names.join('/')}/root`)
    await comes(`file ${names.join('/')}/root/file`)
  })

  test('a whole tree comes by a rename', async () => {
    const { base, comes } = await awaiting('a/b/root', (at) => made(at, 'elsewhere/b/root'))
    renameSync(join(base, 'elsewhere'), join(base, 'a'))
    await comes('file a/b/root/file')
  })

  test('a symlink on the way is made, leads on, or leads elsewhere', async () => {
    const { base, root, comes, goes } = await awaiting('link/root', (at) => {
      made(at, 'one/root')
      mkdirSync(join(at, 'two'))
    })
    symlinkSync('link2', join(base, 'link'))
    symlinkSync('one', join(base, 'link2'))
    await comes('file link/root/file')
    symlinkSync('two', join(base, 'new'))
    renameSync(join(base, 'new'), join(base, 'link2'))
    await goes()
    expect(existsSync(root)).toBe(false)
    renameSync(join(base, 'one/root'), join(base, 'two/root'))
    await comes()
  })

  test('what a symlink leads to comes, also where that lies elsewhere', async () => {
    const { base, comes } = await awaiting('a/link/root', (at) => {
      mkdirSync(join(at, 'a'))
      symlinkSync('../far/away', join(at, 'a/link'))
    })
    made(base, 'far/away/root')
    await comes('file a/link/root/file')
  })

  test('a circle of symlinks is broken', async () => {
    const { base, comes } = await awaiting('root', (at) => {
      symlinkSync('other', join(at, 'root'))
      symlinkSync('root', join(at, 'other'))
      made(at, 'there')
    })
    symlinkSync('there', join(base, 'new'))
    renameSync(join(base, 'new'), join(base, 'other'))
    await comes('file root/file')
  })

  test('a file was where a directory should be', async () => {
    const { base, comes } = await awaiting('a/root', (at) => writeFileSync(join(at, 'a'), ''))
    unlinkSync(join(base, 'a'))
    made(base, 'a/root')
    await comes('file a/root/file')
  })

  test('what is above it goes, and comes again', async () => {
    const { base, comes } = await awaiting('a/b/root', (at) =>
      mkdirSync(join(at, 'a/b'), { recursive: true }),
    )
    rmdirSync(join(base, 'a/b'))
    renameSync(join(base, 'a'), join(base, 'away'))
    mkdirSync(join(base, 'a'))
    rmdirSync(join(base, 'a'))
    made(base, 'a/b/root')
    await comes('file a/b/root/file')
  })

  test('it is a file', async () => {
    const { base, root, comes, goes, changes } = await awaiting('a/root')
    mkdirSync(join(base, 'a'))
    writeFileSync(root, '')
    await comes('file a/root')
    rmSync(join(base, 'a'), { recursive: true })
    await goes()
    mkdirSync(join(base, 'a'))
    writeFileSync(root, 'other')
    await expect.poll(() => story(changes, base)).toEqual(['restored a/root', 'modify file a/root'])
  })

  test('it was there and is lost', async () => {
    const { base, root, comes, goes, waiting } = await awaiting('a/root', (at) => made(at, 'a/root'))
    for (let i = 0; i < 3; i++) {
      renameSync(join(base, 'a'), join(base, 'away'))
      await goes()
      await expect.poll(() => [...waiting]).toEqual([])
      renameSync(join(base, 'away'), join(base, 'a'))
      await comes()
      rmSync(root, { recursive: true })
      await goes()
      made(base, 'a/root')
      await comes()
    }
  })

  test('the events of it are lost: they are looked for after an overflow', async () => {
    const { system, lose } = losing()
    const { base, comes } = await awaiting('a/b/root', undefined, {}, system)
    lose()
    made(base, 'a/b/root')
    await comes('file a/b/root/file')
  })

  test('it lies in a directory that another root ignores', async () => {
    const base = scratch()
    const root = join(base, 'ignored/in/root')
    const { changes } = await watching([base, root], {
      backend: 'inotify',
      recursive: true,
      interval: NEVER,
      ignore: (path) => path === join(base, 'ignored'),
    })
    made(base, 'ignored/in/root')
    await expect
      .poll(() => story(changes, base))
      .toEqual(['restored ignored/in/root', 'create file ignored/in/root/file'])
  })

  test.skipIf(!mayUnshare || !isBuilt)(
    'something is mounted on the way (needs unshare -rm and dist)',
    async () => {
      const base = scratch()
      mkdirSync(join(base, 'point'))
      made(base, 'other/a/root')
      const child = await WatchingChild.start(join(base, 'point/a/root'), {
        interval: NEVER,
        recursive: true,
        under: ['unshare', '-rm'],
      })
      const run = (...command: string[]) =>
        execFileSync('nsenter', ['-t', String(child.pid), '-U', '-m', '--preserve-credentials', ...command])
      run('mount', '--bind', join(base, 'other'), join(base, 'point'))
      await expect
        .poll(() => story(child.changes, base))
        .toEqual(['restored point/a/root', 'create file point/a/root/file'])
      run('umount', join(base, 'point'))
      await expect.poll(() => story(child.changes, base).at(-1)).toBe('lost point/a/root')
      made(base, 'point/a/root')
      await expect
        .poll(() => story(child.changes, base).filter((line) => /^restored/.test(line)))
        .toHaveLength(2)
    },
  )
})

describe('whenever it comes while it is looked for', () => {
  const ALL: ReadonlyArray<(base: string, way: readonly string[]) => void> = [
    // The whole way is made at once.
    (base, way) => made(base, way.at(-1) as string),
    // One more directory is made each time.
    (base, way) => {
      const next = way.find((path) => !existsSync(join(base, path)))
      if (next === way.at(-1)) made(base, next as string)
      else if (next !== undefined) mkdirSync(join(base, next))
    },
    // The way leads over a symlink.
    (base) => {
      made(base, 'elsewhere/b/root')
      if (!existsSync(join(base, 'a'))) symlinkSync('elsewhere', join(base, 'a'))
    },
  ]
  const WAY = ['a', 'a/b', 'a/b/root']

  test.each([0, 1, 2])('as %s has it', async (how) => {
    const act = ALL[how] as (typeof ALL)[number]
    let steps = 0
    for (let at = 0; at <= steps + 1; at++) {
      const base = scratch()
      let count = 0
      const system = observed(() => {
        if (count++ >= at) act(base, WAY)
      })
      const root = join(base, 'a/b/root')
      const { watcher } = await watching(
        root,
        { backend: 'inotify', interval: NEVER, recursive: true },
        system,
      )
      steps = Math.max(steps, count)
      // The rest of the way is made.
      for (let i = 0; i < WAY.length; i++) act(base, WAY)
      await expect.poll(() => watcher.has(join(root, 'file')), { message: `at step ${at}` }).toBe(true)
      await watcher.close()
    }
    expect(steps).toBeGreaterThan(5)
  })
})

describe('it is polled where', () => {
  const isThere = async (changes: readonly Change[], base: string) =>
    await expect.poll(() => story([...changes], base)).toContain('create file a/root/file')

  test('what is above it lies on a mount that does not deliver all events', async () => {
    const choose: WatchSystem['choose'] = async (path) => ({
      ...(await linux.choose(path)),
      backend: 'inotify+poll',
    })
    const options = { backend: 'auto', interval: 5 } as const
    const { watcher, waiting, base, changes } = await awaiting('a/root', undefined, options, { choose })
    await expect.poll(() => waiting.size).toBeGreaterThan(0)
    expect(watcher.coverage()).toMatchObject([{ backend: 'poll', why: 'it is not there yet' }])
    made(base, 'a/root')
    await isThere(changes, base)
  })

  test('what a symlink on the way leads to does', async () => {
    const other = scratch()
    const choose: WatchSystem['choose'] = async (path) => {
      const choice = await linux.choose(path)
      return path.startsWith(other) ? { ...choice, backend: 'inotify+poll' } : choice
    }
    const { waiting, changes, base } = await awaiting(
      'a/root',
      (at) => symlinkSync(join(other, 'missing'), join(at, 'a')),
      { backend: 'auto', interval: 5 },
      { choose },
    )
    await expect.poll(() => waiting.size).toBeGreaterThan(0)
    made(other, 'missing/root')
    await isThere(changes, base)
  })

  test.each(['ENOSPC', 'EACCES'] as const)('what is above it has no watch: %s', async (errno) => {
    const openInotify: WatchSystem['openInotify'] = (options) => {
      const inotify = new Inotify(options)
      inotify.add = (path) => {
        throw new InotifyError({ errno, syscall: 'inotify_add_watch', path })
      }
      return inotify
    }
    const options = { backend: 'auto', interval: 5 } as const
    const { watcher, waiting, changes, base } = await awaiting('a/root', undefined, options, { openInotify })
    watcher.on('error', () => {})
    await expect.poll(() => waiting.size).toBeGreaterThan(0)
    made(base, 'a/root')
    await isThere(changes, base)
  })

  test('that was asked for', async () => {
    let isOpen = false
    const openInotify: WatchSystem['openInotify'] = (options) => {
      isOpen = true
      return new Inotify(options)
    }
    const options = { backend: 'poll', interval: 5 } as const
    const { changes, base, waiting } = await awaiting('a/root', undefined, options, { openInotify })
    await expect.poll(() => waiting.size).toBeGreaterThan(0)
    made(base, 'a/root')
    await isThere(changes, base)
    expect(isOpen).toBe(false)
  })

  test('nobody tells of mounts', async () => {
    const watchMounts: WatchSystem['watchMounts'] = () => ({
      open: () => Promise.reject(new Error('there is no /proc')),
      settled: async () => {},
      partial: () => undefined,
      close: () => {},
    })
    const { watcher, waiting } = await awaiting('a/root', undefined, { interval: 5 }, { watchMounts })
    onTestFinished(() => watcher.close())
    await expect.poll(() => waiting.size).toBeGreaterThan(0)
  })
})

test('none of its watches is left when it is removed', async () => {
  let inotify: Inotify | undefined
  const openInotify: WatchSystem['openInotify'] = (options) => {
    inotify = new Inotify(options)
    return inotify
  }
  const { watcher, root } = await awaiting(
    'a/b/root',
    (at) => mkdirSync(dirname(join(at, 'a/b'))),
    {},
    {
      openInotify,
    },
  )
  const watches = async () => (await linux.kernelWatches(inotify as Inotify))?.size
  expect(await watches()).toBeGreaterThan(0)
  await watcher.remove(root)
  await expect.poll(watches).toBe(0)
})
