// A tree of more directories than watches: directories without a watch are polled, and no change is missing.
// Runs in a user namespace, whose limit affects no other process. ROUNDS=N repeats tests that do not fail
// each time.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { WatchOptions } from '../../../src/index.ts'
import { isLong, roomy, rounds } from '../../support/long.ts'
import { scratch } from '../../support/scratch.ts'
import { AppliedAlone } from '../applied_alone.ts'
import { isBuilt, WatchingChild } from '../child.ts'
import { story } from '../support.ts'
import { overflow } from './losing.ts'
import { namesIn } from './names.ts'

const ROUNDS = rounds(process.env.ROUNDS, { quick: 1, long: 2 })
const NEVER = 1_000_000
const DIRECTORIES = isLong ? 200 : 80
const WATCHES = 1.5 * DIRECTORIES

const limitedTo = (watches: number) => {
  const limit = `echo ${watches} > /proc/sys/user/max_inotify_watches && exec "$@"`
  return ['-Ur', 'sh', '-c', limit, 'sh']
}
const limited = limitedTo(WATCHES)
const mayLimitWatches = spawnSync('unshare', [...limited, 'true']).status === 0

/**
 * Makes directories that each hold another one with a file. Watches them from a process with watches for
 * three of four.
 */
async function watchingFew(options: WatchOptions = {}) {
  const root = scratch(roomy)
  for (let i = 0; i < DIRECTORIES; i++) {
    mkdirSync(join(root, `d${i}/sub`), { recursive: true })
    writeFileSync(join(root, `d${i}/sub/file`), '')
  }
  const believed = new AppliedAlone(root).adopt(namesIn(root))
  const child = await WatchingChild.start(root, {
    recursive: true,
    interval: NEVER,
    under: ['unshare', ...limited],
    ...options,
  })
  const uncovered = (await child.coverage()).flatMap((row) => row.uncovered.map(({ path }) => path))
  const isTop = (path: string) => /\/d\d+$/.test(path)
  const unwatched = uncovered.filter(isTop)
  const watched = namesIn(root)
    .map(([path]) => path)
    .filter((path) => isTop(path) && !uncovered.includes(path) && !uncovered.includes(join(path, 'sub')))
  return {
    child,
    /** Two directories without a watch, and one that has a watch, as have those in it. */
    polled: unwatched[0] as string,
    another: unwatched[1] as string,
    watched: watched[0] as string,
    told: async (base: string) => {
      const changes = await child.told()
      believed.apply(changes)
      return story(changes, base)
    },
    /** Fails if the changes, each applied alone, do not lead to the tree. */
    agrees: () => expect([...believed.names].toSorted()).toEqual(namesIn(root).toSorted()),
  }
}

describe.skipIf(!mayLimitWatches || !isBuilt)('out of watches (needs unshare -Ur and dist)', () => {
  test('a new directory below one that is polled is told, with what is in it and what is done there later', async () => {
    const { polled, told, agrees } = await watchingFew()
    mkdirSync(join(polled, 'new/deep'), { recursive: true })
    writeFileSync(join(polled, 'new/deep/file'), '')
    expect((await told(polled)).toSorted()).toEqual([
      'create directory new',
      'create directory new/deep',
      'create file new/deep/file',
    ])
    writeFileSync(join(polled, 'new/deep/file'), 'x')
    writeFileSync(join(polled, 'new/deep/later'), '')
    expect((await told(polled)).toSorted()).toEqual([
      'create file new/deep/later',
      'modify file new/deep/file',
    ])
    agrees()
  })

  test('a directory that is renamed below one that is polled is renamed', async () => {
    const { polled, told, agrees } = await watchingFew()
    renameSync(join(polled, 'sub'), join(polled, 'renamed'))
    expect(await told(polled)).toEqual(['rename directory sub renamed'])
    writeFileSync(join(polled, 'renamed/file'), 'x')
    expect(await told(polled)).toEqual(['modify file renamed/file'])
    agrees()
  })

  test('as is one that goes from one that is polled to another', async () => {
    const { polled, another, told, agrees } = await watchingFew()
    renameSync(join(polled, 'sub'), join(another, 'come'))
    expect(await told('')).toEqual([
      `rename directory ${join(polled, 'sub')} ${join(another, 'come')}`.replaceAll(' /', ' '),
    ])
    writeFileSync(join(another, 'come/file'), 'x')
    expect(await told(another)).toEqual(['modify file come/file'])
    agrees()
  })

  test('a watched directory that is moved to where it is polled does not vanish, nor what is done there later', async () => {
    const { polled, watched, told, agrees } = await watchingFew()
    renameSync(watched, join(polled, 'moved'))
    await told(polled)
    agrees()
    writeFileSync(join(polled, 'moved/sub/file'), 'x')
    writeFileSync(join(polled, 'moved/sub/later'), '')
    expect((await told(polled)).toSorted()).toEqual([
      'create file moved/sub/later',
      'modify file moved/sub/file',
    ])
    agrees()
  })

  test('what was written in one that is polled is told though it gets a watch before the next poll', async () => {
    const { polled, watched, told, agrees } = await watchingFew()
    writeFileSync(join(polled, 'sub/file'), 'x')
    // Two watches become free, and the new mode is a reason to list this directory again.
    rmSync(watched, { recursive: true })
    chmodSync(polled, 0o700)
    expect(await told(polled)).toContain('modify file sub/file')
    writeFileSync(join(polled, 'sub/file'), 'xx')
    expect(await told(polled)).toEqual(['modify file sub/file'])
    agrees()
  })

  test('what a poll has last seen of its files is not compared with any more when it has a watch', async () => {
    const { child, polled, watched, told } = await watchingFew()
    await told(polled)
    rmSync(watched, { recursive: true })
    chmodSync(polled, 0o700)
    await told(polled)
    for (let i = 0; i < 2; i++) {
      writeFileSync(join(polled, 'sub/file'), 'x')
      const sources = (await child.told()).map(({ type, source }) => `${type} ${source}`)
      expect([...new Set(sources)], `${i}`).toEqual(['modify inotify'])
    }
  })

  // The watcher kept the mode that a poll saw last, and compared later modes with that one for ever.
  test('the mode of a directory that was polled is told once where it is watched', async () => {
    const { polled, watched, told, agrees } = await watchingFew()
    // The move frees two watches, and takes them for its new parent.
    renameSync(watched, join(polled, 'made-anew'))
    await told(polled)
    renameSync(join(polled, 'sub'), join(polled, 'made-anew/was-polled'))
    await told(polled)
    for (const [i, mode] of [0o700, 0o755, 0o700].entries()) {
      for (const path of ['sub', 'was-polled']) chmodSync(join(polled, 'made-anew', path), mode)
      const attribs = ['attrib directory made-anew/sub', 'attrib directory made-anew/was-polled']
      expect([...new Set(await told(polled))].toSorted(), `${i}`).toEqual(attribs)
      expect(await told(polled), `${i}: again`).toEqual([])
    }
    agrees()
  })

  // The watcher kept the mode that the first poll saw, and overlooked later events of the mode.
  test('the mode of a directory that is polled in one that is watched is told after an overflow, though the first poll has seen the same', async () => {
    const root = scratch()
    for (const name of ['a', 'b', 'c']) mkdirSync(join(root, name), { mode: 0o755 })
    const under = ['unshare', ...limitedTo(2)]
    const child = await WatchingChild.start(root, { recursive: true, interval: NEVER, under })
    const told = async () => story(await child.told(), root)
    expect(await told()).toEqual([])
    const [polled = ''] = (await child.coverage()).flatMap((row) => row.uncovered.map(({ path }) => path))
    const attrib = `attrib directory ${basename(polled)}`
    chmodSync(polled, 0o700)
    expect(await told()).toContain(attrib)
    await child.stop()
    overflow(root)
    chmodSync(polled, 0o755)
    child.goOn()
    expect(await told()).toEqual(expect.arrayContaining(['overflow .', attrib]))
  })

  test.each<[string, WatchOptions]>([
    ['', {}],
    [', with ignore rules', { ignore: ['/nowhere'] }],
  ])('sync() needs no watch: it never rejects%s', async (_, options) => {
    const failures: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const { child, watched } = await watchingFew(options)
      // While sync() waits, directories are listed and watches tried. If sync() rejects, the process ends.
      const done = (async () => {
        for (let i = 0; i < 10; i++) {
          mkdirSync(join(watched, `new${i}/deep/deeper`), { recursive: true })
          await child.told()
        }
      })()
      await done.catch((error) => failures.push(`${error}`))
    }
    expect(failures, `${failures.length} of ${ROUNDS} rounds`).toEqual([])
  })

  test.each<[string, WatchOptions]>([
    ['', {}],
    [', with ignore rules', { ignore: ['/nowhere'] }],
  ])('one shortage is said once, however many directories it concerns%s', async (_, options) => {
    const { child, watched } = await watchingFew(options)
    for (let i = 0; i < 5; i++) {
      mkdirSync(join(watched, `new${i}/deep`), { recursive: true })
      await child.told().catch(() => [])
    }
    expect(child.errors.map(({ code }) => code)).toEqual(['ENOSPC'])
  })

  test.each(['', 'file'])('nor how many roots: each of ten is polled (root/%s)', async (name) => {
    const base = scratch()
    const roots = Array.from({ length: 10 }, (_, i) => join(base, `root${i}`, name))
    for (const root of roots) mkdirSync(name === '' ? root : dirname(root))
    if (name !== '') for (const root of roots) writeFileSync(root, '')
    // Some of the four watches serve the way to the first root, so that there are too few for the others.
    const under = ['unshare', ...limitedTo(4)]
    const child = await WatchingChild.start(roots, { interval: NEVER, under })
    await child.told()
    const backends = (await child.coverage()).map(({ backend }) => backend)
    expect(backends.filter((backend) => backend === 'poll').length).toBeGreaterThan(5)
    expect(child.errors.map(({ code }) => code)).toEqual(['ENOSPC'])
  })
})
