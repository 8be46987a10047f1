// A file that is mounted into a watched tree (docker -v file:file, subPath, /etc/hosts): a write in place is
// told, by either path. The watch of its directory has no event for such a write.
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { WatchOptions } from '../../../src/index.ts'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'
import { isBuilt, WatchingChild } from '../child.ts'
import { story } from '../support.ts'

const NEVER = 1_000_000

async function watchingMounts(script: string, options: WatchOptions = {}) {
  const root = scratch()
  const at = (path: string) => join(root, path)
  for (const each of ['host', 'etc/deep', 'out']) mkdirSync(at(each), { recursive: true })
  for (const each of ['host/1', 'host/2', 'etc/1', 'etc/2', 'etc/deep/3', 'out/4'])
    writeFileSync(at(each), '')
  symlinkSync('../out/4', at('etc/link'))
  symlinkSync('1', at('etc/near'))
  const under = ['unshare', '-rm', 'sh', '-ec', `(cd "$0" && ${script}) && exec "$@"`, root]
  const child = await WatchingChild.start(at('etc'), { interval: NEVER, ...options, under })
  const enter = ['-t', String(child.pid), '-U', '-m', '--preserve-credentials']
  const run = (command: string) =>
    void execFileSync('nsenter', [...enter, 'sh', '-ec', `cd ${root}; ${command}`])
  return {
    run,
    /** Writes by some path, and expects these changes. */
    async written(path: string, ...expected: string[]) {
      child.changes.length = 0
      run(`echo more >>${path}`)
      await expect
        .poll(() => story(child.changes, at('etc')))
        // The close event of the previous write may come now.
        .toEqual(expect.arrayContaining(expected))
    },
    /** Writes by some path, and expects no change but those of a marker. */
    async silent(path: string) {
      // sync() has told all earlier changes.
      await child.told()
      run(`echo more >>${path}; mkdir etc/mark`)
      await expect.poll(() => child.changes.length).toBeGreaterThan(0)
      run('rmdir etc/mark')
      const expected = ['create directory mark', 'delete directory mark']
      await expect.poll(() => story(child.changes, at('etc'))).toEqual(expected)
    },
    told: () => story(child.changes, at('etc')),
    changes: child.changes,
  }
}

describe.skipIf(!mayUnshare || !isBuilt)('files mounted into a tree (needs unshare -rm and dist)', () => {
  test.for([{ recursive: false }, { recursive: true }, { recursive: true, followSymlinks: true }])(
    '%o',
    async (options) => {
      const it = await watchingMounts('mount --bind host/1 etc/1; mount --bind host/2 etc/2', options)
      const near = options.followSymlinks ? ['modify symlink near'] : []
      for (const path of ['host/1', 'etc/1']) await it.written(path, 'modify file 1', ...near)
      for (const path of ['host/2', 'etc/2']) await it.written(path, 'modify file 2')
    },
  )

  test('one file at several names, deep ones too', async () => {
    const script = 'mount --bind host/1 etc/1; mount --bind host/1 etc/deep/3'
    const { written } = await watchingMounts(script, { recursive: true })
    await written('host/1', 'modify file 1', 'modify file deep/3')
    await written('etc/deep/3', 'modify file 1', 'modify file deep/3')
  })

  test('one at the end of a followed link', async () => {
    const { written } = await watchingMounts('mount --bind host/1 out/4', { followSymlinks: true })
    await written('host/1', 'modify symlink link')
  })

  test('mounts that come and go while it watches', async () => {
    const { run, written, silent, told, changes } = await watchingMounts('true', { recursive: true })
    await silent('host/1')
    run('mount --bind host/1 etc/1')
    await expect.poll(told).toContain('modify file 1')
    await written('host/1', 'modify file 1')
    // A second mount hides the first one.
    changes.length = 0
    run('mount --bind host/2 etc/1')
    await expect.poll(told).toContain('modify file 1')
    await written('host/2', 'modify file 1')
    changes.length = 0
    run('umount etc/1; umount etc/1')
    await expect.poll(told).toContain('modify file 1')
    await silent('host/1')
    await silent('host/2')
    await written('etc/1', 'modify file 1')
    // The directory and the mount in it are new.
    changes.length = 0
    run('mkdir etc/new; touch etc/new/f; mount --bind host/1 etc/new/f')
    await expect.poll(told).toContain('create file new/f')
    changes.length = 0
    await expect
      .poll(() => {
        run('echo more >>host/1')
        return told()
      })
      .toContain('modify file new/f')
  })

  test('one below a directory that is renamed, which changes the mount table without a word of the kernel', async () => {
    const it = await watchingMounts('mount --bind host/1 etc/deep/3', { recursive: true })
    it.run('mv etc/deep etc/deeper')
    await expect.poll(it.told).toContain('rename directory deep deeper')
    // A directory that comes has the mounted files followed anew.
    it.run('mkdir etc/new')
    await expect.poll(it.told).toContain('create directory new')
    await it.written('host/1', 'modify file deeper/3')
    await it.written('etc/deeper/3', 'modify file deeper/3')
  })

  test('a file on a mount without events is polled', async () => {
    const { written, silent } = await watchingMounts('mount --bind host/1 etc/1', {
      interval: 20,
      backend: 'poll',
    })
    await written('host/1', 'modify file 1')
    await silent('host/2')
  })
})
