// A mount can hide a root, or a directory on the way to a root, without any event. The end of the mount shows
// the hidden entries again.
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'
import { isBuilt, WatchingChild } from '../child.ts'
import { story } from '../support.ts'

/**
 * A watcher without timers, in a mount namespace of its own. `told` does not call sync(), which looks at all
 * roots.
 */
async function watchingMounts(base: string, name: string, more: object = {}) {
  const options = { recursive: true, interval: 1_000_000, under: ['unshare', '-rm'], ...more }
  const child = await WatchingChild.start(join(base, name), options)
  const enter = ['-t', String(child.pid), '-U', '-m', '--preserve-credentials']
  /** Runs a script in the watcher's mount namespace. printf(1) writes names that are not UTF-8. */
  const run = (script: string) =>
    void execFileSync('nsenter', [...enter, 'sh', '-ec', `cd "$0"; ${script}`, base])
  const told = async (...expected: string[]) => {
    await expect.poll(() => story(child.changes, base)).toEqual(expected)
    child.changes.length = 0
  }
  return { child, run, told }
}

describe.skipIf(!mayUnshare || !isBuilt)('a mount (needs unshare -rm and dist)', () => {
  test.each(['d', 'd/f'])('at %s, which is the only root and a file, or on the way to it', async (point) => {
    const base = scratch()
    for (const name of ['d', 'e']) {
      mkdirSync(join(base, name))
      writeFileSync(join(base, name, 'f'), name)
    }
    const { child, run, told } = await watchingMounts(base, 'd/f')
    run(`mount --bind ${point.replace('d', 'e')} ${point}`)
    await told('modify file d/f')
    appendFileSync(join(base, 'e/f'), 'x')
    await told('modify file d/f')
    // A write and its close(2) may each be told.
    await child.told()
    run(`umount ${point}`)
    await told('modify file d/f')
    appendFileSync(join(base, 'd/f'), 'x')
    await told('modify file d/f')
  })

  test.each(['t', 't/in'])('at a name that is no UTF-8, in a tree: the root is %s', async (root) => {
    const base = scratch()
    mkdirSync(join(base, 't'))
    execFileSync('sh', [
      '-ec',
      'cd "$0"; mkdir "t/d$(printf "\\377")"; ln -s "d$(printf "\\377")" t/in',
      base,
    ])
    const { run, told } = await watchingMounts(base, root)
    const name = root === 't' ? 't/d\ufffd' : root
    run('mount -t tmpfs none "t/d$(printf "\\377")"')
    if (root === 't') await told(`delete directory ${name}`, `create directory ${name}`)
    else await told(`lost ${name}`, `restored ${name}`)
    run('mkdir "t/d$(printf "\\377")/new"')
    await told(`create directory ${name}/new`)
    run('umount "t/d$(printf "\\377")"')
  })

  test('at the root, which is unmounted: what it hid is there at once', async () => {
    const base = scratch()
    mkdirSync(join(base, 't'))
    writeFileSync(join(base, 't/f'), '')
    const { run, told } = await watchingMounts(base, 't')
    run('mount -t tmpfs none t')
    await told('lost t', 'restored t', 'delete file t/f')
    run('umount t')
    await told('lost t', 'restored t', 'create file t/f')
  })

  test.each(['y', 'y/f'])(
    'over a directory that the way to %s leaves again: a root, and a link that is followed',
    async (end) => {
      const base = scratch()
      for (const name of ['r', 'x/s', 'y']) mkdirSync(join(base, name), { recursive: true })
      writeFileSync(join(base, 'y/f'), '')
      symlinkSync(`../x/s/../../${end}`, join(base, 'r/l'))
      const link = await watchingMounts(base, 'r', { followSymlinks: true })
      const root = await watchingMounts(base, 'r/l')
      for (const { run } of [link, root]) run('mount -t tmpfs none x')
      const isFile = end !== 'y'
      await link.told(...(isFile ? ['modify symlink r/l'] : ['delete directory r/l', 'create symlink r/l']))
      await root.told('lost r/l')
      for (const { run } of [link, root]) run('umount x')
      await link.told(
        ...(isFile
          ? ['modify symlink r/l']
          : ['delete symlink r/l', 'create directory r/l', 'create file r/l/f']),
      )
      await root.told('restored r/l')
    },
  )
})
