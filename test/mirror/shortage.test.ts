// For want of descriptors nobody can look into a directory of the target: that is no sign that somebody has removed it.
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
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
