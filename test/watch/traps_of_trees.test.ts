import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { mayUnshare } from '../mounts/namespace.ts'
import { compile } from '../support/compile.ts'
import { rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { isBuilt, WatchingChild } from './child.ts'
import { Writers } from './model/world/writers.ts'
import { story, watching } from './support.ts'
import { directoriesIn, kernelWatches, watchingTree } from './tree.ts'

// inotify's traps of directories and mounts, one test each, with the promise of each. traps.test.ts has the
// others.

const put = (path: string, content = 'x') => writeFileSync(path, content)
const options = { recursive: true, backend: 'inotify' } as const
// Longer than any test: no timer found a change.
const NEVER = 1_000_000

const CHAINS = rounds(process.env.CHAINS, { quick: 75, long: 300 })

describe('traps', () => {
  test.skipIf(!mayUnshare || !isBuilt)(
    'umount: lost, and what is there instead (needs unshare -rm and dist)',
    async () => {
      const [root, elsewhere] = [scratch(), scratch()]
      put(join(root, 'beneath'))
      put(join(elsewhere, 'other'))
      const mounted = [
        'sh',
        '-c',
        'mount -t tmpfs none "$0" && mkdir "$0/d" && : >"$0/d/a" && exec "$@"',
        root,
      ]
      const child = await WatchingChild.start(root, {
        ...options,
        interval: NEVER,
        under: ['unshare', '-rm', ...mounted],
      })
      const run = (...command: string[]) =>
        execFileSync('nsenter', ['-t', String(child.pid), '-U', '-m', '--preserve-credentials', ...command])
      const lines = async () => story(await child.told(), root)

      run('umount', root)
      // A file in the directory may have a delete of its own before the directory's.
      const difference = (await lines()).filter((line) => !line.endsWith('d/a'))
      expect(difference).toEqual(['lost .', 'restored .', 'create file beneath', 'delete directory d'])
      // Another mount on a watched directory is no event, nor is a bind mount's end.
      run('mount', '-t', 'tmpfs', 'none', root)
      expect(await lines()).toEqual(['lost .', 'restored .', 'delete file beneath'])
      run('umount', root)
      run('mkdir', join(root, 'd'))
      await lines()
      run('mount', '--bind', elsewhere, join(root, 'd'))
      // The mount table, which reports its changes, shows mounts below the root.
      await expect.poll(lines).toContain('create file d/other')
      run('umount', join(root, 'd'))
      await expect.poll(async () => (await lines()).at(0)).toMatch(/^delete (directory d|file d\/other)$/)
      run('touch', join(root, 'd/a'))
      expect(await lines()).toContain('create file d/a')
    },
  )

  test('ancestor of the root renamed: lost, and no ghosts', async () => {
    const base = scratch()
    const root = join(base, 'parent/root')
    mkdirSync(join(root, 'd'), { recursive: true })
    const { told } = await watching(root, { ...options, interval: NEVER })
    renameSync(join(base, 'parent'), join(base, 'moved'))
    expect(story(await told(), root)).toEqual(['lost .'])
    put(join(base, 'moved/root/d/ghost'))
    expect(await told()).toEqual([])
    renameSync(join(base, 'moved'), join(base, 'parent'))
    expect(story(await told(), root)).toEqual(['restored .', 'create file d/ghost'])
  })

  test('directory moved out: it is not told of any more, nor watched', async () => {
    const outside = scratch()
    const { root, at, lines, agrees } = await watchingTree((at) => {
      mkdirSync(at('d/e/f'), { recursive: true })
      mkdirSync(at('kept'))
    })
    const before = kernelWatches() - directoriesIn(root)
    renameSync(at('d'), join(outside, 'd'))
    expect(await lines()).toEqual(['delete directory d'])
    put(join(outside, 'd/a'))
    put(join(outside, 'd/e/f/a'))
    mkdirSync(join(outside, 'd/e/g'))
    expect(await lines()).toEqual([])
    expect(kernelWatches() - before).toBe(directoriesIn(root))
    // The directory comes in again, under another name, as a new one.
    renameSync(join(outside, 'd/e'), at('kept/e'))
    expect((await lines()).toSorted()).toEqual([
      'create directory kept/e',
      'create directory kept/e/f',
      'create directory kept/e/g',
      'create file kept/e/f/a',
    ])
    put(at('kept/e/f/a'), 'more')
    expect(await lines()).toEqual(['modify file kept/e/f/a'])
    await agrees()
  })

  test('recursive add: what comes into a directory before it is watched is told, once', async () => {
    const { root, told, agrees } = await watchingTree()
    await using writers = new Writers(4, root, scratch())
    const scripts = Array.from({ length: 4 }, (_, w) =>
      Array.from({ length: CHAINS }, (_, i) => ['create', `${w}/${i}/a/b/c`]),
    )
    await writers.run(scripts)
    const created = (await told()).filter(({ type }) => type === 'create')
    // Each writer makes chains of three directories and a file, and its own directory. Each entry has a
    // create of its own.
    expect(created).toHaveLength(4 * (CHAINS * 4 + 1))
    await agrees()
  })

  test('directory swapped for a symlink between event and add: never followed, and PATH_MAX is no limit', async () => {
    const elsewhere = scratch()
    mkdirSync(join(elsewhere, 'in'))
    put(join(elsewhere, 'secret'))
    const { root, at, told, agrees } = await watchingTree((at) => mkdirSync(at('d')))
    const before = kernelWatches() - directoriesIn(root)
    await using writers = new Writers(2, root, scratch())
    const swaps = (name: string) =>
      Array.from({ length: 200 }, (_, i) => [
        ['mkdir', `${name}/${i}`],
        ['swap', elsewhere, `${name}/${i}`],
      ])
    await writers.run([swaps('d').flat(), swaps('e').flat()])
    put(join(elsewhere, 'secret'), 'more')
    const paths = (await told()).map(({ path }) => path)
    expect(paths.filter((path) => path.includes('secret') || path.endsWith('/in'))).toEqual([])
    await agrees()
    expect(kernelWatches() - before).toBe(directoriesIn(root))

    onTestFinished(() => void execFileSync('rm', ['-rf', at('d')]))
    execFileSync(compile('traps'), ['deep', at('d'), '20'])
    const deepest = (await told()).map(({ path }) => path).find((path) => path.endsWith('/deepest'))
    expect(deepest).toHaveLength(at('d').length + 20 * 256 + '/deepest'.length)
  })
})
