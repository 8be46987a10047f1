import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'
import { isBuilt, WatchingChild } from '../child.ts'
import { story } from '../support.ts'

/** A watcher without timers, in a mount namespace of its own in which `script` has run in the root. */
async function watchingMounts(root: string, script: string) {
  const under = ['unshare', '-rm', 'sh', '-ec', `(cd "$0" && ${script}) && exec "$@"`, root]
  const child = await WatchingChild.start(root, { recursive: true, interval: 1_000_000, under })
  const enter = ['-t', String(child.pid), '-U', '-m', '--preserve-credentials']
  return {
    child,
    run: (...command: string[]) => void execFileSync('nsenter', [...enter, ...command]),
    told: () => story(child.changes, root),
    paths: async () => (await child.coverage()).map(({ path }) => path),
    uncovered: async () => (await child.coverage()).flatMap(({ uncovered }) => uncovered),
  }
}

/** Returns the number of watches of a process. */
function watchesOf(pid: number): number {
  const directory = `/proc/${pid}/fdinfo`
  const texts = readdirSync(directory).map((fd) => {
    try {
      return readFileSync(join(directory, fd), 'latin1')
    } catch {
      // The descriptor was closed since the directory was read.
      return ''
    }
  })
  return texts.join('\n').match(/^inotify wd:/gm)?.length ?? 0
}

// No sync(), which polls: a poll would hide a missing reaction to the mount table.
describe.skipIf(!mayUnshare || !isBuilt)('mounts below a root (needs unshare -rm and dist)', () => {
  test('one that was refused and is unmounted: not in coverage any more, and what was beneath is watched', async () => {
    const root = scratch()
    const at = (path: string) => join(root, path)
    mkdirSync(at('d/mount/deep'), { recursive: true })
    writeFileSync(at('d/mount/beneath'), '')
    const { child, run, told, uncovered } = await watchingMounts(root, 'mount -t devpts none d/mount')
    expect(await uncovered()).toMatchObject([{ path: at('d/mount'), error: { code: 'ENOTSUP' } }])
    run('umount', at('d/mount'))
    await expect
      .poll(() => told().slice(0, 2))
      .toEqual(['delete directory d/mount', 'create directory d/mount'])
    await expect
      .poll(() => told().slice(2).toSorted())
      .toEqual(['create directory d/mount/deep', 'create file d/mount/beneath'])
    expect(await uncovered()).toEqual([])
    expect(await child.coverage()).toMatchObject([{ directories: 4 }])
    child.changes.length = 0
    run('mkdir', at('d/mount/deep/new'))
    await expect.poll(told).toEqual(['create directory d/mount/deep/new'])

    // The mount comes back.
    run('mount', '-t', 'devpts', 'none', at('d/mount'))
    await expect.poll(uncovered).toMatchObject([{ path: at('d/mount'), error: { code: 'ENOTSUP' } }])
    expect(await child.coverage()).toMatchObject([{ directories: 2 }])
  })

  test('one that was refused, and another in its place', async () => {
    const root = scratch()
    const at = (path: string) => join(root, path)
    mkdirSync(at('mount'))
    const { child, run, told, paths, uncovered } = await watchingMounts(root, 'mount -t devpts none mount')
    run('mount', '-t', 'tmpfs', 'none', at('mount'))
    await expect.poll(paths).toEqual([root, at('mount')])
    expect(await uncovered()).toEqual([])
    child.changes.length = 0
    run('mkdir', at('mount/new'))
    await expect.poll(told).toEqual(['create directory mount/new'])
  })

  test('one that is refused where a directory was: none of its watches is left', async () => {
    const root = scratch()
    mkdirSync(join(root, 'd'))
    const { child, run, uncovered } = await watchingMounts(root, ':')
    const before = watchesOf(child.pid)
    run('mount', '--rbind', '/proc', join(root, 'd'))
    await expect.poll(uncovered).toMatchObject([{ path: join(root, 'd'), error: { code: 'ENOTSUP' } }])
    // The directory's own watch is gone.
    await expect.poll(() => watchesOf(child.pid)).toBe(before - 1)
  })

  test('where one is refused is told by where its directory is now', async () => {
    const root = scratch()
    const at = (path: string) => join(root, path)
    for (const path of ['d/mount', 'other']) mkdirSync(at(path), { recursive: true })
    const { run, told, uncovered } = await watchingMounts(root, 'mount -t devpts none d/mount')
    run('mv', at('d'), at('e'))
    await expect.poll(told).toEqual(['rename directory d e'])
    expect(await uncovered()).toMatchObject([{ path: at('e/mount') }])
    // The kernel tells that something was mounted, and the table then has another point for the mount as well.
    run('mount', '-t', 'tmpfs', 'none', at('other'))
    await expect
      .poll(told)
      .toEqual(['rename directory d e', 'delete directory other', 'create directory other'])
    expect(await uncovered()).toMatchObject([{ path: at('e/mount') }])
  })

  test('one that is unmounted has no row in coverage any more, nor has one within it', async () => {
    const root = scratch()
    const at = (path: string) => join(root, path)
    for (const path of ['one', 'two']) mkdirSync(at(path))
    const { run, paths } = await watchingMounts(
      root,
      'mount -t tmpfs none one && mount -t tmpfs none two && mkdir two/d && mount -t tmpfs none two/d',
    )
    expect((await paths()).toSorted()).toEqual([root, at('one'), at('two'), at('two/d')])
    run('umount', at('one'))
    await expect.poll(async () => (await paths()).toSorted()).toEqual([root, at('two'), at('two/d')])
    // The end of a mount makes the watcher look at others, and a directory that is being listed is busy.
    await expect.poll(() => run('umount', '-R', at('two'))).toBeUndefined()
    await expect.poll(paths).toEqual([root])
  })
})
