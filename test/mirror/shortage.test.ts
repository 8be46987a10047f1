// For want of descriptors nobody can look into a directory of the target: that is no sign that somebody has removed it.
import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { InotifyError } from '../../src/errors.ts'
import { Target } from '../../src/mirror/target/target.ts'
import { CallError } from '../../src/mounts/syscalls/call_error.ts'
import { DirectoryHandle } from '../../src/mounts/syscalls/directory_handle.ts'
import { fixture } from './fixture.ts'
import { said } from './said.ts'

test.each(['EMFILE', 'ENFILE', 'ENOMEM'] as const)(
  '%s: what goes from the source meanwhile goes from the target behind that',
  async (code) => {
    const { source, target, start } = fixture()
    await mkdir(join(source, 'd'))
    await writeFile(join(source, 'd/f'), '')
    const mirror = await start()
    const { errors } = said(mirror)
    const spy = vi.spyOn(DirectoryHandle.prototype, 'directory')
    onTestFinished(() => spy.mockRestore())
    spy.mockRejectedValue(new CallError(constants.errno[code], 'open'))
    await mirror.refresh()
    spy.mockRestore()
    await rm(join(source, 'd'), { recursive: true })
    await mirror.refresh()
    expect(existsSync(join(target, 'd'))).toBe(false)
    expect(errors).toMatchObject([{ code }])
  },
)

test('nor can it be seen that what was put in place is there: it is the mirror’s all the same, and goes with its source', async () => {
  const { source, target, start } = fixture()
  const mirror = await start()
  const { errors } = said(mirror)
  for (const name of ['d/f', 'f']) {
    await mkdir(join(source, name, '..'), { recursive: true })
    await writeFile(join(source, name), '')
  }
  await symlink('f', join(source, 'link'))
  await mirror.refresh()
  const spy = vi.spyOn(Target.prototype, 'verify')
  onTestFinished(() => spy.mockRestore())
  spy.mockRejectedValue(new InotifyError({ errno: 'EMFILE', syscall: 'open', path: target }))
  await mirror.refresh()
  spy.mockRestore()
  expect(await readdir(target)).toEqual(expect.arrayContaining(['d', 'f', 'link']))
  for (const name of await readdir(source)) await rm(join(source, name), { recursive: true })
  await mirror.refresh()
  expect(await readdir(target)).toEqual([expect.stringMatching(/^\.inotify-bridge-/)])
  expect(errors).toMatchObject([{ code: 'EMFILE' }])
})

test('a look behind a publication that fails hides no update', async () => {
  const { source, start } = fixture()
  const mirror = await start()
  const { errors, updates } = said(mirror)
  await writeFile(join(source, 'f'), '')
  const { verify } = Target.prototype
  const spy = vi.spyOn(Target.prototype, 'verify')
  onTestFinished(() => spy.mockRestore())
  let looks = 0
  spy.mockImplementation(function (this: Target) {
    // The first look of the pass comes before anything is put in place.
    if (++looks === 1) return verify.call(this)
    return Promise.reject(new InotifyError({ errno: 'EMFILE', syscall: 'open', path: this.shown }))
  })
  await mirror.refresh()
  spy.mockRestore()
  await mirror.refresh()
  expect(updates).toEqual([['f']])
  expect(errors).toMatchObject([{ code: 'EMFILE' }])
})

test('a mirror that cannot read what one before it has noted down does not start, and what it was to know is known to the next', async () => {
  const { source, target, start } = fixture()
  await writeFile(join(source, 'f'), '')
  await (await start()).close({ keep: true })
  await rm(join(source, 'f'))
  const spy = vi.spyOn(DirectoryHandle.prototype, 'file')
  onTestFinished(() => spy.mockRestore())
  spy.mockRejectedValue(new CallError(constants.errno.EMFILE, 'open'))
  await expect(start()).rejects.toMatchObject({ code: 'EMFILE' })
  spy.mockRestore()
  await start()
  expect(existsSync(join(target, 'f'))).toBe(false)
})

test('nor does one that cannot see whether another is running', async () => {
  const { start } = fixture()
  await start()
  const { hold } = DirectoryHandle.prototype
  const spy = vi.spyOn(DirectoryHandle.prototype, 'hold')
  onTestFinished(() => spy.mockRestore())
  spy.mockImplementation(function (this: DirectoryHandle, name, ...rest) {
    if (name === 'lock') return Promise.reject(new CallError(constants.errno.EMFILE, 'open'))
    return hold.call(this, name, ...rest)
  })
  await expect(start()).rejects.toMatchObject({ code: 'EMFILE' })
  spy.mockRestore()
  await expect(start()).rejects.toMatchObject({ code: 'EBUSY' })
})
