// A change of attributes alone copies nothing, and reaches no file but the one that was published.
import { linkSync, renameSync } from 'node:fs'
import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { DirectoryHandle } from '../../src/mounts/syscalls/directory_handle.ts'
import { fixture } from './fixture.ts'

describe('attributes are changed in place of the very file that was published', () => {
  /** Runs `meanwhile` right before the mirror opens `name` in the target to change its mode. */
  function beforeHolding(name: string, meanwhile: () => void) {
    const { hold } = DirectoryHandle.prototype
    const spy = vi.spyOn(DirectoryHandle.prototype, 'hold')
    const once = vi.fn(meanwhile)
    spy.mockImplementation(async function (this: DirectoryHandle, entry) {
      if (entry === name && once.mock.calls.length === 0) once()
      return await hold.call(this, entry)
    })
    onTestFinished(() => spy.mockRestore())
    return once
  }

  test('another file under its name keeps its mode, and the content is published anew', async () => {
    const { source, target, start } = fixture()
    await writeFile(join(source, 'pub'), 'public')
    await chmod(join(source, 'pub'), 0o600)
    const mirror = await start()
    await writeFile(join(target, 'key'), 'secret')
    await chmod(join(target, 'key'), 0o600)
    await chmod(join(source, 'pub'), 0o644)
    const moved = beforeHolding('pub', () => {
      linkSync(join(target, 'key'), join(target, 'stolen'))
      renameSync(join(target, 'key'), join(target, 'pub'))
    })
    await mirror.refresh()
    expect(moved).toHaveBeenCalledTimes(1)
    expect((await stat(join(target, 'stolen'))).mode & 0o777).toBe(0o600)
    await mirror.refresh()
    expect(await readFile(join(target, 'pub'), 'utf8')).toBe('public')
    expect((await stat(join(target, 'pub'))).mode & 0o777).toBe(0o644)
    expect((await stat(join(target, 'stolen'))).mode & 0o777).toBe(0o600)
  })

  test('a file that has another name as well is published anew', async () => {
    const { source, target, start } = fixture()
    await writeFile(join(source, 'pub'), 'public')
    await chmod(join(source, 'pub'), 0o600)
    const mirror = await start()
    await chmod(join(source, 'pub'), 0o644)
    beforeHolding('pub', () => linkSync(join(target, 'pub'), join(target, 'other')))
    await mirror.refresh()
    await mirror.refresh()
    expect((await stat(join(target, 'other'))).mode & 0o777).toBe(0o600)
    expect((await stat(join(target, 'pub'))).mode & 0o777).toBe(0o644)
  })
})
