import { renameSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { CallError } from '../../src/mounts/syscalls/call_error.ts'
import { DirectoryHandle } from '../../src/mounts/syscalls/directory_handle.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { fixture } from './fixture.ts'
import { shownIn } from './names.ts'

test('an entry that cannot be looked at keeps no other from being mirrored', async () => {
  const { source, target, start } = fixture()
  for (const name of ['a', 'b']) await writeFile(join(source, name), '1')
  const mirror = await start()
  const { lstat } = DirectoryHandle.prototype
  const spy = vi.spyOn(DirectoryHandle.prototype, 'lstat')
  // As a neighbour's FUSE mount is for root.
  spy.mockImplementation(async function (this: DirectoryHandle, name) {
    if (name === 'a' && this.opened.ino === (await stat(target, { bigint: true })).ino)
      throw new CallError(constants.errno.EACCES, 'statx')
    return await lstat.call(this, name)
  })
  onTestFinished(() => spy.mockRestore())
  await writeFile(join(source, 'b'), '2')
  await mirror.refresh()
  expect(await readFile(join(target, 'b'), 'utf8')).toBe('2')
  spy.mockRestore()
  await mirror.refresh()
  await mirror.refresh()
  expect(mirror.errors).toEqual([])
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
})

test('another link put at ..data_tmp as it is made is not published', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { a: '1' })
  const mirror = await start()
  await mkdir(join(target, 'theirs'))
  await writeFile(join(target, 'theirs/a'), 'theirs')
  const { symlink: original } = SyscallThread.prototype
  const swapped = vi.fn(async (name: string | Buffer) => {
    if (name !== '..data_tmp' || swapped.mock.results.length > 1) return
    await symlink('theirs', join(target, 'new'))
    await rename(join(target, 'new'), join(target, '..data_tmp'))
  })
  const spy = vi.spyOn(SyscallThread.prototype, 'symlink')
  spy.mockImplementation(async function (this: SyscallThread, to, at) {
    await original.call(this, to, at)
    await swapped(at.name)
  })
  onTestFinished(() => spy.mockRestore())
  await atomicWrite(source, { a: '2' })
  await mirror.refresh()
  expect(swapped).toHaveBeenCalled()
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
})

test("a directory at the target's ..data is exchanged and removed", async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { a: '1' })
  await mkdir(join(target, '..data/theirs'), { recursive: true })
  const mirror = await start()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
  expect((await readdir(target)).length).toBe((await readdir(source)).length + 1)
  await rm(join(target, '..data'))
  await mkdir(join(target, '..data/theirs'), { recursive: true })
  await mkdir(join(target, '..data_tmp/theirs'), { recursive: true })
  await atomicWrite(source, { a: '2' })
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
  expect(await shownIn(target)).toEqual((await readdir(source)).sort())
})

test('what is removed is the directory that was published, not one that has its name', async () => {
  const { source, target, start } = fixture()
  await mkdir(join(source, 'd'))
  await writeFile(join(source, 'd/file'), '')
  const mirror = await start()
  await mkdir(join(target, 'victim'))
  await writeFile(join(target, 'victim/file'), 'theirs')
  const { directory: open } = DirectoryHandle.prototype
  const spy = vi.spyOn(DirectoryHandle.prototype, 'directory')
  let isRemoving = false
  const swapped = vi.fn(() => {
    renameSync(join(target, 'd'), join(target, 'd.away'))
    renameSync(join(target, 'victim'), join(target, 'd'))
  })
  spy.mockImplementation(async function (this: DirectoryHandle, entry) {
    if (entry === 'd' && isRemoving) swapped()
    return await open.call(this, entry)
  })
  onTestFinished(() => spy.mockRestore())
  const { unlink: original } = SyscallThread.prototype
  const unlinking = vi.spyOn(SyscallThread.prototype, 'unlink')
  unlinking.mockImplementation(function (this: SyscallThread, at, flags) {
    // EISDIR: the next call opens it, to empty it.
    isRemoving = at.name === 'd'
    return original.call(this, at, flags)
  })
  onTestFinished(() => unlinking.mockRestore())
  await rm(join(source, 'd'), { recursive: true })
  await mirror.refresh()
  expect(swapped).toHaveBeenCalledTimes(1)
  expect(await readFile(join(target, 'd/file'), 'utf8')).toBe('theirs')
})
