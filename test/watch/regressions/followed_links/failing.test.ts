// A server or a disk fails when the watcher looks where links lead: the failure says nothing of the links,
// and no change is lost.
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../../../support/scratch.ts'
import { failingWalks } from '../../engine/failing_walks.ts'
import { story, watching } from '../../support.ts'
import { losing, untilPast } from '../losing.ts'

/** A tree with a link to a directory and one to a file, of which events can be lost. */
async function following() {
  const base = scratch()
  const at = (path: string) => join(base, path)
  for (const path of ['tree', 'out/one', 'out/two']) mkdirSync(at(path), { recursive: true })
  for (const path of ['out/one/f', 'out/two/f', 'out/key']) writeFileSync(at(path), '')
  symlinkSync('../out/one', at('tree/l'))
  symlinkSync('../out/key', at('tree/k'))
  await untilPast(at('tree/k'))
  const { system, lose } = losing()
  const options = { recursive: true, followSymlinks: true, interval: 1_000_000, backend: 'inotify' } as const
  const { watcher, changes } = await watching(at('tree'), options, system)
  await watcher.sync()
  const errors: unknown[] = []
  watcher.on('error', (error) => errors.push(error))
  const { faults, tries } = failingWalks()
  const fail = (names: readonly string[]) => {
    for (const name of names) faults.set(name, { code: 'EIO', of: 'open' })
  }
  const isTried = async () => {
    const had = tries.length
    await expect.poll(() => tries.length).toBeGreaterThan(had + 6)
  }
  return {
    at,
    watcher,
    fail,
    mend: () => faults.clear(),
    isTried,
    lose,
    errors,
    told: () => story(changes, at('tree')),
  }
}

test('the directory that one leads to is not told to be gone, and what was written there meanwhile is told', async () => {
  const { at, watcher, fail, mend, isTried, lose, errors, told } = await following()
  fail(['l', 'out'])
  lose()
  writeFileSync(at('out/one/f'), 'longer')
  await isTried()
  expect(told()).toEqual(['overflow .', 'recovered .'])
  const l = { code: 'EIO', path: at('tree/l') }
  expect(errors).toContainEqual(expect.objectContaining(l))
  expect(watcher.coverage().flatMap(({ uncovered }) => uncovered)).toMatchObject([{ path: l.path, error: l }])
  mend()
  await expect.poll(told).toContain('modify file l/f')
  await watcher.sync()
  expect(told()).toEqual(['overflow .', 'recovered .', 'modify file l/f'])
  expect(watcher.coverage().flatMap(({ uncovered }) => uncovered)).toEqual([])
})

test('the file that one leads to is told when it has been written, and not before anybody can look', async () => {
  const { at, watcher, fail, mend, isTried, lose, errors, told } = await following()
  fail(['out'])
  lose()
  writeFileSync(at('out/key'), 'longer')
  await isTried()
  expect(told()).toEqual(['overflow .', 'recovered .'])
  expect(errors).toMatchObject([{ code: 'EIO', path: at('tree/k') }])
  mend()
  await watcher.sync()
  expect(told()).toEqual(['overflow .', 'recovered .', 'modify symlink k'])
})

test('what a new one leads to is told as soon as somebody can look', async () => {
  const { at, watcher, fail, mend, isTried, errors, told } = await following()
  fail(['new', 'out'])
  symlinkSync('../out/two', at('tree/new'))
  await isTried()
  expect(told()).toEqual(['create symlink new'])
  expect(errors).toMatchObject([{ code: 'EIO', path: at('tree/new') }])
  mend()
  await watcher.sync()
  const seen = ['delete symlink new', 'create directory new', 'create file new/f']
  expect(told()).toEqual(['create symlink new', ...seen])
  writeFileSync(at('out/two/g'), '')
  await expect.poll(() => told().at(-1)).toBe('create file new/g')
})

test('one that leads elsewhere meanwhile is told to do so then', async () => {
  const { at, watcher, fail, mend, isTried, told } = await following()
  fail(['l', basename(at('out'))])
  symlinkSync('../out/two', at('out/other'))
  renameSync(at('out/other'), at('tree/l'))
  writeFileSync(at('out/two/g'), '')
  await isTried()
  mend()
  await watcher.sync()
  await watcher.sync()
  expect(told().slice(-3).toSorted()).toEqual(['create directory l', 'create file l/f', 'create file l/g'])
})
