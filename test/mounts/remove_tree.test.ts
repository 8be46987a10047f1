import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DirectoryHandle } from '../../src/mounts/syscalls/directory_handle.ts'
import { removeTree } from '../../src/mounts/syscalls/remove_tree.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { directory } from '../mirror/fixture.ts'
import { rounds } from '../support/long.ts'

async function held(path: string): Promise<DirectoryHandle> {
  const calls = new SyscallThread()
  onTestFinished(() => calls.end())
  return await DirectoryHandle.open(calls, path)
}

/** A chain of directories beneath `path`, made step by step: as one path it would be longer than PATH_MAX. */
function makeChain(path: string, levels: number): void {
  const program = `process.chdir(process.argv[1])
    for (let n = 0; n < ${levels}; n++) {
      require('node:fs').mkdirSync('level')
      process.chdir('level')
      require('node:fs').writeFileSync('file', '')
    }`
  const { status, stderr } = spawnSync(process.execPath, ['-e', program, path], { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(status).toBe(0)
}

const openFiles = () => readdirSync('/proc/self/fd').length

const LEVELS = rounds(process.env.LEVELS, { quick: 1000, long: 2000 })

test(`a chain of ${LEVELS} directories takes two descriptors`, async () => {
  const outside = directory()
  const target = await held(outside)
  await mkdir(join(outside, 'deep'))
  makeChain(join(outside, 'deep'), LEVELS)
  const before = openFiles()
  let most = 0
  let opened = 0
  const { openBeneath } = SyscallThread.prototype
  const spy = vi.spyOn(SyscallThread.prototype, 'openBeneath')
  spy.mockImplementation(function (this: SyscallThread, ...asked) {
    if (++opened % 100 === 0) most = Math.max(most, openFiles())
    return openBeneath.apply(this, asked)
  })
  onTestFinished(() => spy.mockRestore())
  await removeTree(target, 'deep')
  expect(existsSync(join(outside, 'deep'))).toBe(false)
  // Closing is asked of the thread, which is behind by a few.
  expect(most).toBeGreaterThan(before)
  expect(most - before).toBeLessThan(10)
})

test('links are removed and not followed; a name that is no UTF-8 goes as well', async () => {
  const outside = directory()
  const kept = directory()
  await writeFile(join(kept, 'file'), '')
  await mkdir(join(outside, 'tree/a/b'), { recursive: true })
  await mkdir(join(outside, 'tree/c'))
  await symlink(kept, join(outside, 'tree/a/link'))
  await writeFile(Buffer.concat([Buffer.from(join(outside, 'tree/a/b/')), Buffer.from([0xff, 0xfe])]), '')
  await mkdir(Buffer.concat([Buffer.from(join(outside, 'tree/c/')), Buffer.from([0xff])]))
  await removeTree(await held(outside), 'tree')
  expect(readdirSync(outside)).toEqual([])
  expect(readdirSync(kept)).toEqual(['file'])
  await removeTree(await held(outside), 'tree')
})

test('a directory that is moved away while what is below it is removed takes nothing else with it', async () => {
  const outside = directory()
  const elsewhere = directory()
  await mkdir(join(outside, 'tree/a/b/c'), { recursive: true })
  await mkdir(join(elsewhere, 'a'))
  await writeFile(join(elsewhere, 'stays'), '')
  const { names } = DirectoryHandle.prototype
  const spy = vi.spyOn(DirectoryHandle.prototype, 'names')
  let listed = 0
  spy.mockImplementation(async function (this: DirectoryHandle, most?: number) {
    // It stands in `c`, and has to climb to `a` by way of `b`.
    if (++listed === 4) await rename(join(outside, 'tree/a/b'), join(elsewhere, 'b'))
    return await names.call(this, most)
  })
  onTestFinished(() => spy.mockRestore())
  await expect(removeTree(await held(outside), 'tree')).rejects.toMatchObject({ code: 'EBUSY' })
  expect(readdirSync(elsewhere).sort()).toEqual(['a', 'b', 'stays'])
})

test('what is not meant stays, also where it takes the name in between', async () => {
  const outside = directory()
  await mkdir(join(outside, 'mine/full'), { recursive: true })
  await mkdir(join(outside, 'theirs/full'), { recursive: true })
  const target = await held(outside)
  const { ino } = await target.lstat('mine')
  await removeTree(target, 'theirs', (stat) => stat.ino === ino)
  expect(readdirSync(outside).sort()).toEqual(['mine', 'theirs'])
  const { directory: open } = DirectoryHandle.prototype
  const spy = vi.spyOn(DirectoryHandle.prototype, 'directory')
  spy.mockImplementationOnce(async function (this: DirectoryHandle, name) {
    await rename(join(outside, 'mine'), join(outside, 'was mine'))
    await rename(join(outside, 'theirs'), join(outside, 'mine'))
    return await open.call(this, name)
  })
  onTestFinished(() => spy.mockRestore())
  await removeTree(target, 'mine', (stat) => stat.ino === ino)
  expect(readdirSync(join(outside, 'mine'))).toEqual(['full'])
})
