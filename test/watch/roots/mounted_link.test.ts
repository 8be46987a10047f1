// A mount can hide the target of a followed symlink without any event.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mayUnshare } from '../../mounts/namespace.ts'
import { scratch } from '../../support/scratch.ts'
import { isBuilt, WatchingChild } from '../child.ts'
import { story } from '../support.ts'

/**
 * A watcher without timers, in a mount namespace of its own. The targets of its links lie beside its root.
 */
async function watchingLinks() {
  const base = scratch()
  const at = (path: string) => join(base, path)
  for (const directory of ['tree', 'near', 'far/deep']) mkdirSync(at(directory), { recursive: true })
  for (const file of ['near/own', 'far/deep/key']) writeFileSync(at(file), '')
  symlinkSync('../near', at('tree/directory'))
  symlinkSync('../far/deep/key', at('tree/file'))
  const options = { recursive: true, followSymlinks: true, interval: 1_000_000, under: ['unshare', '-rm'] }
  const child = await WatchingChild.start(at('tree'), options)
  const enter = ['-t', String(child.pid), '-U', '-m', '--preserve-credentials']
  return {
    at,
    child,
    run: (...command: string[]) => void execFileSync('nsenter', [...enter, ...command]),
    told: () => story(child.changes.splice(0), at('tree')).toSorted(),
  }
}

describe.skipIf(!mayUnshare || !isBuilt)('a link that is followed (needs unshare -rm and dist)', () => {
  test('to a directory that something is mounted over, and unmounted from', async () => {
    const { at, child, run, told } = await watchingLinks()
    run('mount', '-t', 'tmpfs', 'none', at('near'))
    await expect.poll(() => child.changes.length).toBe(2)
    expect(told()).toEqual(['create directory directory', 'delete directory directory'])
    run('touch', at('near/new'))
    await expect.poll(() => child.changes.length).toBeGreaterThan(0)
    expect(told()).toContain('create file directory/new')
    await child.told()
    run('umount', at('near'))
    await expect.poll(() => child.changes.length).toBe(3)
    expect(told()).toEqual([
      'create directory directory',
      'create file directory/own',
      'delete directory directory',
    ])
  })

  test('to a directory below which something is mounted, as below its root', async () => {
    const { at, child, run, told } = await watchingLinks()
    for (const [place, path] of [
      ['near/below', 'directory/below'],
      ['tree/below', 'below'],
    ] as const) {
      run('mkdir', at(place))
      await expect.poll(() => child.changes.length).toBe(1)
      expect(told()).toEqual([`create directory ${path}`])
      run('mount', '-t', 'tmpfs', 'none', at(place))
      await expect.poll(() => child.changes.length).toBe(2)
      expect(told()).toEqual([`create directory ${path}`, `delete directory ${path}`])
      run('mkdir', join(at(place), 'new'))
      await expect.poll(() => child.changes.length).toBe(1)
      expect(told()).toEqual([`create directory ${path}/new`])
    }
  })

  test('to a file on whose way something is mounted: sync() has heard of it', async () => {
    const { at, child, run } = await watchingLinks()
    const steps = [
      ['mount', '-t', 'tmpfs', 'none', at('far')],
      ['umount', at('far')],
    ]
    for (const step of steps) {
      run(...step)
      expect(story(await child.told(), at('tree')), step.join(' ')).toEqual(['modify symlink file'])
    }
  })
  test('below which something is mounted: told by a sync() in the same turn of the event loop', () => {
    const program = [process.execPath, join(import.meta.dirname, 'mounted_now.mjs'), scratch()]
    const { stdout, stderr } = spawnSync('unshare', ['-rm', ...program], { encoding: 'utf8' })
    expect(stdout, stderr).toBe(JSON.stringify(Array(40).fill(2)))
  })
})
