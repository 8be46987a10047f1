// Whose the entries of a directory are that is published to: what is of another user, or of another use, is neither followed nor removed.
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { publishDirectory } from '../../src/index.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { giveAway, isRoot } from '../support/others.ts'
import { scratch } from '../support/scratch.ts'
import { data, published, read, VERSION } from './published.ts'

const OLD = '..2020_01_01_00_00_00.123'

/** A directory that all may write to, with what `lay` makes in it. */
function shared(mode: number, lay: (directory: string) => void) {
  const directory = scratch()
  chmodSync(directory, mode)
  lay(directory)
  return directory
}

function version(directory: string, name = OLD) {
  mkdirSync(join(directory, name))
  writeFileSync(join(directory, name, 'a'), '1')
  return join(directory, name)
}

test('what ..data leads to, and does not have the name of a version, stays', async () => {
  const directory = scratch()
  version(directory, '..mine')
  symlinkSync('..mine', join(directory, '..data'))
  expect(await publishDirectory(directory, { a: '1' })).toEqual({ changed: true })
  expect(readdirSync(directory).sort()).toEqual(['..data', data(directory), '..mine', 'a'].sort())
  expect(read(directory, '..mine/a')).toBe('1')
})

describe.skipIf(!isRoot)('in a sticky directory (needs root)', () => {
  test.each<[string, (directory: string) => void]>([
    ['..data', (directory) => symlinkSync(basename(version(directory)), join(directory, '..data'))],
    ['..data', (directory) => mkdirSync(join(directory, '..data'))],
    ['..data_tmp', (directory) => symlinkSync('x', join(directory, '..data_tmp'))],
    ['..link_tmp', (directory) => mkdirSync(join(directory, '..link_tmp'))],
    ['a', (directory) => symlinkSync('..data/a', join(directory, 'a'))],
    ['a', (directory) => writeFileSync(join(directory, 'a'), 'theirs')],
    [
      OLD,
      (directory) => {
        version(directory)
        symlinkSync(OLD, join(directory, '..data'))
      },
    ],
  ])('%s of another user is refused by its name, and nothing happens', async (name, lay) => {
    const directory = shared(0o1777, lay)
    giveAway(join(directory, name))
    const before = readdirSync(directory)
    const refused = publishDirectory(directory, { a: '2' })
    await expect(refused).rejects.toMatchObject({ code: 'EACCES', path: join(directory, name) })
    await expect(refused).rejects.toThrow(/another user has laid it in a sticky directory: remove it/)
    expect(readdirSync(directory)).toEqual(before)
  })

  test("another's version, and a link that is no key's, stay; one's own go", async () => {
    const theirs = '..2021_01_01_00_00_00.123'
    const directory = shared(0o1777, (directory) => {
      giveAway(version(directory, theirs))
      version(directory)
      for (const name of ['mine', 'theirs']) symlinkSync(`..data/${name}`, join(directory, name))
      giveAway(join(directory, 'theirs'))
    })
    await publishDirectory(directory, { a: '1' })
    await publishDirectory(directory, { a: '2' })
    const kept = ['..data', data(directory), theirs, 'a', 'theirs']
    expect(readdirSync(directory).sort()).toEqual(kept.sort())
    expect(readdirSync(join(directory, theirs))).toEqual(['a'])
  })

  test("another's symlink is not followed to the directory; a symlink of one's own is, to one that is made too", async () => {
    const elsewhere = scratch()
    const directory = shared(0o1777, (directory) => {
      for (const name of ['mine', 'theirs']) symlinkSync(join(elsewhere, 'new'), join(directory, name))
      giveAway(join(directory, 'theirs'))
    })
    const path = join(directory, 'theirs')
    await expect(publishDirectory(path, { a: '1' })).rejects.toMatchObject({ code: 'EACCES', path })
    await publishDirectory(join(directory, 'mine/'), { a: '1' })
    expect(read(elsewhere, 'new/a')).toBe('1')
  })
})

test.skipIf(!isRoot)("another's leftovers stay, also where it may write alone (needs root)", async () => {
  const directory = scratch()
  giveAway(version(directory))
  await publishDirectory(directory, { a: '1' })
  expect(readdirSync(directory)).toContain(OLD)
})

test('where others may rename, a version is known by its mark: a directory of another use stays', async () => {
  const directory = shared(0o777, (directory) => void version(directory))
  await publishDirectory(directory, { a: '1' })
  const first = data(directory)
  expect(statSync(join(directory, first)).mode & 0o7777).toBe(0o1755)
  await publishDirectory(directory, { a: '2' })
  expect(readdirSync(directory).sort()).toEqual(['..data', data(directory), OLD, 'a'].sort())
  expect(data(directory)).not.toBe(first)
})

test.each([
  ['that is not empty', 0o755],
  ['that is private', 0o700],
  ['that all may write to', 0o1777],
])('a directory %s in the place of the new version: EBUSY, and it stays as it is', async (_, mode) => {
  const directory = await published({ a: '1' })
  chmodSync(directory, 0o777)
  const path = join(directory, 'private')
  mkdirSync(path)
  if (mode === 0o755) writeFileSync(join(path, 'key'), 'secret')
  chmodSync(path, mode)
  const mkdir = SyscallThread.prototype.mkdir
  vi.spyOn(SyscallThread.prototype, 'mkdir').mockImplementation(async function (
    this: SyscallThread,
    at,
    made,
  ) {
    await mkdir.call(this, at, made)
    const name = String(at.name)
    if (!VERSION.test(name)) return
    rmdirSync(join(directory, name))
    renameSync(path, join(directory, name))
  })
  onTestFinished(() => void vi.restoreAllMocks())
  await expect(publishDirectory(directory, { a: '2' })).rejects.toMatchObject({ code: 'EBUSY' })
  expect(read(directory, 'a')).toBe('1')
  const exchanged = readdirSync(directory).find((name) => VERSION.test(name) && name !== data(directory))
  expect(statSync(join(directory, String(exchanged))).mode & 0o7777).toBe(mode)
})
