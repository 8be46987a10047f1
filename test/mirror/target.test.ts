// Others change the target while it is mirrored to: what is theirs is not touched, and what is the mirror's comes back.
import { spawnSync } from 'node:child_process'
import { existsSync, linkSync, readFileSync, renameSync } from 'node:fs'
import {
  appendFile,
  chmod,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { mirror as begin } from '../../src/mirror/mirror.ts'
import { CallError } from '../../src/mounts/call_error.ts'
import { Calls } from '../../src/mounts/calls.ts'
import { HeldDirectory } from '../../src/mounts/held.ts'
import { directory, fixture } from './fixture.ts'
import { said } from './said.ts'

const contentOf = async (target: string) =>
  (await readdir(target)).filter((name) => !name.startsWith('.inotify-bridge-')).sort()

describe('an entry that somebody changes comes back at the next pass', () => {
  const changes: Record<string, (path: string) => Promise<void>> = {
    removed: (path) => rm(path, { recursive: true }),
    'renamed away': (path) => rename(path, `${path}.away`),
    'replaced by a file': async (path) => {
      await rm(path, { recursive: true })
      await writeFile(path, 'theirs')
    },
    'replaced by a directory': async (path) => {
      await rm(path, { recursive: true })
      await mkdir(path)
      await writeFile(join(path, 'theirs'), '')
    },
    'replaced by a link': async (path) => {
      await rm(path, { recursive: true })
      await symlink('/etc', path)
    },
    'given another mode': (path) => chmod(path, 0o711),
  }
  const readAll = async (target: string) => {
    const paths = ['flat', 'sub', 'sub/file', 'key', '..data/key', '..data/nested/key', 'sub/link']
    const found = paths.map(async (path) => {
      const { mode } = await stat(join(target, path)).catch(() => ({ mode: 0 }))
      const text = await readFile(join(target, path), 'utf8').catch(({ code }) => String(code))
      return [path, mode.toString(8), text]
    })
    return { content: await Promise.all(found), names: await contentOf(target) }
  }

  for (const [how, change] of Object.entries(changes)) {
    for (const path of [
      'flat',
      'sub',
      'sub/file',
      'sub/link',
      'key',
      '..data',
      '..data/key',
      '..data/nested',
    ]) {
      // chmod(2) follows a link, and there is no mode of a link itself.
      if (how === 'given another mode' && ['sub/link', 'key', '..data'].includes(path)) continue
      test(`${path}: ${how}`, async () => {
        const { source, target, start } = fixture()
        await atomicWrite(source, { key: 'K', 'nested/key': 'N' })
        await writeFile(join(source, 'flat'), 'F')
        await mkdir(join(source, 'sub'))
        await writeFile(join(source, 'sub/file'), 'S')
        await symlink('file', join(source, 'sub/link'))
        const mirror = await start()
        const { errors } = said(mirror)
        const before = await readAll(target)
        await change(join(target, path))
        await mirror.refresh()
        const after = await readAll(target)
        expect(after.content).toEqual(before.content)
        if (how !== 'renamed away' && !path.startsWith('..data')) expect(after.names).toEqual(before.names)
        expect(await readlink(join(target, 'key'))).toBe('..data/key')
        expect(errors).toEqual([])
        await mirror.refresh()
        expect(await readAll(target)).toEqual(after)
      })
    }
  }

  test('a file that is written to in place', async () => {
    const { source, target, start } = fixture()
    await atomicWrite(source, { key: 'K' })
    await writeFile(join(source, 'flat'), 'F')
    const mirror = await start()
    await appendFile(join(target, 'flat'), 'theirs')
    await appendFile(join(target, '..data/key'), 'theirs')
    await mirror.refresh()
    expect(await readFile(join(target, 'flat'), 'utf8')).toBe('F')
    expect(await readFile(join(target, 'key'), 'utf8')).toBe('K')
  })

  test('of several sources', async () => {
    const { source, target } = fixture()
    const other = directory()
    await atomicWrite(source, { a: '1' })
    await atomicWrite(other, { b: '2' })
    const mirror = await begin([source, other], target, { interval: 60_000, quiet: 5 })
    onTestFinished(() => mirror.close())
    for (const key of ['a', 'b', '..data/a', '..data/b', '..data']) {
      await rm(join(target, key))
      await mirror.refresh()
      await mirror.refresh()
      expect(await readFile(join(target, 'a'), 'utf8'), key).toBe('1')
      expect(await readFile(join(target, 'b'), 'utf8'), key).toBe('2')
    }
  })
})

describe('the target itself', () => {
  const moves: Record<string, (target: string) => Promise<void>> = {
    removed: (target) => rm(target, { recursive: true }),
    renamed: (target) => rename(target, `${target}.away`),
    replaced: async (target) => {
      await rename(target, `${target}.away`)
      await mkdir(target)
      await writeFile(join(target, 'theirs'), '')
    },
    'replaced by a link to a directory': async (target) => {
      await rename(target, `${target}.away`)
      await mkdir(`${target}.other`)
      await symlink(`${target}.other`, target)
    },
  }
  for (const [how, move] of Object.entries(moves)) {
    for (const count of [1, 3]) {
      test(`${how}, ${count} sources: it is said, and what is there is mirrored to`, async () => {
        const { source, target } = fixture()
        const sources = [source, directory(), directory()].slice(0, count)
        for (const [index, each] of sources.entries()) {
          await atomicWrite(each, { [`key${index}`]: '1' })
          await writeFile(join(each, `flat${index}`), '1')
        }
        const mirror = await begin(sources, target, { interval: 60_000, quiet: 5 })
        onTestFinished(() => mirror.close())
        const { errors, states } = said(mirror)
        await move(target)
        await mirror.refresh()
        await mirror.refresh()
        for (const index of sources.keys()) {
          expect(await readFile(join(target, `key${index}`), 'utf8')).toBe('1')
          expect(await readFile(join(target, `flat${index}`), 'utf8')).toBe('1')
        }
        expect(errors).toMatchObject([{ code: 'ESTALE', path: target }])
        expect(states).toEqual([])
        expect(mirror.errors).toEqual([])
        await writeFile(join(source, 'flat0'), '2')
        await mirror.refresh()
        expect(await readFile(join(target, 'flat0'), 'utf8')).toBe('2')
        const away = `${target}.away`
        if (existsSync(away)) expect(await readFile(join(away, 'flat0'), 'utf8'), 'as it was').toBe('1')
        await mirror.close()
        if (how === 'replaced') expect(await readdir(target)).toEqual(['theirs'])
      })
    }
  }

  test('one that comes to lie in the source is refused, and what is in the source stays', async () => {
    const { source, target, start } = fixture()
    await mkdir(join(source, 'sub'))
    await writeFile(join(source, 'sub/file'), '1')
    const mirror = await start()
    const { errors } = said(mirror)
    await rename(target, `${target}.away`)
    await symlink(join(source, 'sub'), target)
    await mirror.refresh()
    await mirror.refresh()
    expect(errors).toMatchObject([{ code: 'EINVAL', path: target }])
    expect(await readdir(join(source, 'sub'))).toEqual(['file'])
    await unlink(target)
    await mirror.refresh()
    expect(await readFile(join(target, 'sub/file'), 'utf8')).toBe('1')
    expect(mirror.errors).toEqual([])
  })

  for (const count of [1, 3]) {
    test(`cleared with all in it, the mirror's own directory too, ${count} sources: it is said, and all comes back`, async () => {
      const { source, target } = fixture()
      const sources = [source, directory(), directory()].slice(0, count)
      for (const [index, each] of sources.entries()) {
        await atomicWrite(each, { [`key${index}`]: '1' })
        await writeFile(join(each, `flat${index}`), '1')
      }
      const mirror = await begin(sources, target, { interval: 60_000, quiet: 5 })
      onTestFinished(() => mirror.close())
      const { errors } = said(mirror)
      for (const name of await readdir(target)) await rm(join(target, name), { recursive: true })
      await mirror.refresh()
      await mirror.refresh()
      for (const index of sources.keys())
        for (const name of [`key${index}`, `flat${index}`])
          expect(await readFile(join(target, name), 'utf8'), name).toBe('1')
      expect(errors).toMatchObject([{ code: 'ESTALE', path: target }])
      await atomicWrite(source, { key0: '2' })
      await mirror.refresh()
      await mirror.refresh()
      expect(await readFile(join(target, 'key0'), 'utf8')).toBe('2')
      expect(mirror.errors).toEqual([])
      await mirror.close()
      expect(existsSync(target)).toBe(false)
    })
  }

  test("directories that are empty are removed, the mirror's own place for what it makes ready among them", async () => {
    const { source, target, start } = fixture()
    await writeFile(join(source, 'a'), '1')
    const mirror = await start()
    const { errors } = said(mirror)
    const [staging = ''] = (await readdir(target)).filter((name) => name.startsWith('.inotify-bridge-'))
    await rmdir(join(target, staging, 'work0'))
    await writeFile(join(source, 'a'), '2')
    await mirror.refresh()
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
    expect(errors).toEqual([])
  })

  test('another mount of the very directory at its path changes nothing', async ({ skip }) => {
    const { source, target, start } = fixture()
    await writeFile(join(source, 'a'), '1')
    const mirror = await start()
    const { errors } = said(mirror)
    if (spawnSync('mount', ['--bind', target, target]).status !== 0) skip('needs the right to mount')
    onTestFinished(() => void spawnSync('umount', ['-l', target]))
    await writeFile(join(source, 'a'), '2')
    await mirror.refresh()
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
    expect(errors).toEqual([])
    spawnSync('umount', ['-l', target])
    await mirror.refresh()
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
  })

  test('a directory removed while its files are being copied, one of them unchanged but for its time', async () => {
    const { source, target, start } = fixture()
    await mkdir(join(source, 'd'))
    for (const name of ['a', 'b']) await writeFile(join(source, 'd', name), '1')
    const mirror = await start()
    await writeFile(join(source, 'd/a'), '2')
    await writeFile(join(source, 'd/b'), '1')
    const { create } = Calls.prototype
    const removed = vi.fn(() => rm(join(target, 'd'), { recursive: true }))
    const spy = vi.spyOn(Calls.prototype, 'create')
    spy.mockImplementation(async function (this: Calls, at, mode) {
      if (removed.mock.calls.length === 0) await removed()
      return await create.call(this, at, mode)
    })
    onTestFinished(() => spy.mockRestore())
    await mirror.refresh()
    await mirror.refresh()
    expect(removed).toHaveBeenCalledTimes(1)
    expect(await readFile(join(target, 'd/a'), 'utf8')).toBe('2')
    expect(await readFile(join(target, 'd/b'), 'utf8')).toBe('1')
  })

  test('an entry of a held source that somebody removes does not keep the mirror busy', async () => {
    const { source, target } = fixture()
    const other = directory()
    await writeFile(join(source, 'a'), '1')
    await writeFile(join(other, 'b'), '1')
    const limits = { files: 2, bytes: 1e6 }
    const mirror = await begin([source, other], target, {
      interval: 60_000,
      quiet: 5,
      limits,
      overLimit: 'hold',
    })
    onTestFinished(() => mirror.close())
    const { errors } = said(mirror)
    for (const name of ['c', 'd', 'e']) await writeFile(join(other, name), '')
    await mirror.refresh()
    const passes = vi.fn()
    mirror.on('pass', passes)
    await unlink(join(target, 'b'))
    await mirror.refresh()
    await mirror.refresh()
    // Each asks for the other a few times, and then no more; two passes are asked for here, of each source.
    await vi.waitFor(async () => {
      const before = passes.mock.calls.length
      await mirror.refresh()
      expect(passes.mock.calls.length - before).toBe(2)
    })
    expect(passes.mock.calls.length).toBeLessThan(40)
    expect(errors).toMatchObject([{ code: 'ENODATA', path: target }])
    expect(errors[0]?.message).toContain(`b of ${other}`)
  })

  test('close() removes no other directory that is at its path by then', async () => {
    const { source, target, start } = fixture()
    await writeFile(join(source, 'a'), '1')
    const mirror = await start()
    await rename(target, `${target}.away`)
    await mkdir(target)
    await mirror.close()
    expect(await readdir(target)).toEqual([])
  })

  test('keys that a held source cannot give again are said to be missing', async () => {
    const { source, target } = fixture()
    const other = directory()
    const flat = directory()
    await atomicWrite(source, { a: '1' })
    await atomicWrite(other, { k: '1', l: '1' })
    await writeFile(join(flat, 'file'), '1')
    const limits = { files: 5, bytes: 1e6 }
    const mirror = await begin([source, other, flat], target, {
      interval: 60_000,
      quiet: 5,
      limits,
      overLimit: 'hold',
    })
    onTestFinished(() => mirror.close())
    const { errors } = said(mirror)
    await atomicWrite(other, { k: '2', l: '2', m: '', n: '', o: '', p: '' })
    await mirror.refresh()
    expect(errors).toEqual([])
    await unlink(join(target, '..data/k'))
    await atomicWrite(source, { a: '2' })
    await vi.waitFor(async () => {
      await mirror.refresh()
      expect(errors).toMatchObject([{ code: 'ENODATA', path: target }])
    })
    expect(errors[0]?.message).toContain(other)
    // What is no key does not wait for them.
    await writeFile(join(flat, 'file'), '2')
    await mirror.refresh()
    expect(await readFile(join(target, 'file'), 'utf8')).toBe('2')
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
    await atomicWrite(other, { k: '3', l: '3' })
    await mirror.refresh()
    await mirror.refresh()
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
    expect(await readFile(join(target, 'k'), 'utf8')).toBe('3')
    expect(mirror.errors).toEqual([])
  })

  test('others may write the way to it: what they put there is not written to', async () => {
    const { source } = fixture()
    const parent = directory(existsSync('/dev/shm') ? '/dev/shm' : undefined)
    await chmod(parent, 0o777)
    const target = join(parent, 'target')
    await writeFile(join(source, 'a'), '1')
    const mirror = await begin(source, target, { interval: 60_000, quiet: 5 })
    onTestFinished(() => mirror.close())
    const { errors } = said(mirror)
    const elsewhere = directory()
    for (const [put, away] of [
      [() => symlink(elsewhere, target), () => unlink(target)],
      [() => mkdir(join(target, 'theirs'), { recursive: true }), () => rm(target, { recursive: true })],
    ] as const) {
      errors.length = 0
      await rename(target, `${target}.away`)
      await put()
      await mirror.refresh()
      await mirror.refresh()
      expect(errors).toMatchObject([{ code: 'EPERM', path: target }])
      expect(await readdir(elsewhere)).toEqual([])
      expect((await readdir(target)).filter((name) => name !== 'theirs')).toEqual([])
      await away()
      await rename(`${target}.away`, target)
      await mirror.refresh()
      expect(mirror.errors).toEqual([])
    }
    // Nothing there, or something empty, is as good as what the mirror makes.
    await rm(target, { recursive: true })
    await mirror.refresh()
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
    await rename(target, `${target}.away`)
    await mkdir(target)
    await mirror.refresh()
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
  })

  test('a mount in a directory of the mirror that goes is not emptied', async ({ skip }) => {
    const { source, target, start } = fixture()
    await mkdir(join(source, 'sub/data'), { recursive: true })
    await writeFile(join(source, 'sub/file'), '1')
    const mirror = await start()
    const { errors } = said(mirror)
    const mounted = join(target, 'sub/data')
    if (spawnSync('mount', ['-t', 'tmpfs', 'none', mounted]).status !== 0) skip('needs the right to mount')
    onTestFinished(() => void spawnSync('umount', [mounted]))
    await writeFile(join(mounted, 'theirs'), 'theirs')
    await rm(join(source, 'sub'), { recursive: true })
    await mirror.refresh()
    expect(await readFile(join(mounted, 'theirs'), 'utf8')).toBe('theirs')
    expect(errors).toMatchObject([{ code: 'EBUSY' }])
    spawnSync('umount', [mounted])
    await mirror.refresh()
    expect(existsSync(join(target, 'sub'))).toBe(false)
  })

  test('an entry that cannot be looked at keeps no other from being mirrored', async () => {
    const { source, target, start } = fixture()
    for (const name of ['a', 'b']) await writeFile(join(source, name), '1')
    const mirror = await start()
    const { lstat } = HeldDirectory.prototype
    const spy = vi.spyOn(HeldDirectory.prototype, 'lstat')
    // As a neighbour's FUSE mount is for root.
    spy.mockImplementation(async function (this: HeldDirectory, name) {
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

  test('a directory in the way that cannot be removed is said, and updates go on', async ({ skip }) => {
    const { source, target, start } = fixture()
    await mkdir(join(target, 'a/mounted'), { recursive: true })
    const mount = () => spawnSync('mount', ['-t', 'tmpfs', 'none', join(target, 'a/mounted')]).status === 0
    if (!mount()) skip('needs the right to mount')
    const mirror = await start()
    const { errors, updates } = said(mirror)
    onTestFinished(() => {
      const table = readFileSync('/proc/self/mountinfo', 'utf8')
      for (const line of table.split('\n'))
        if (line.includes(target)) spawnSync('umount', [line.split(' ')[4] as string])
    })
    await writeFile(join(source, 'a'), '1')
    await mirror.refresh()
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
    await writeFile(join(source, 'a'), '2')
    await mirror.refresh()
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
    expect(updates).toEqual([['a'], ['a']])
    expect(errors).toMatchObject([{ code: 'EBUSY', path: target }])
  })

  test('another link put at ..data_tmp as it is made is not published', async () => {
    const { source, target, start } = fixture()
    await atomicWrite(source, { a: '1' })
    const mirror = await start()
    await mkdir(join(target, 'theirs'))
    await writeFile(join(target, 'theirs/a'), 'theirs')
    const { symlink: original } = Calls.prototype
    const swapped = vi.fn(async (name: string | Buffer) => {
      if (name !== '..data_tmp' || swapped.mock.results.length > 1) return
      await symlink('theirs', join(target, 'new'))
      await rename(join(target, 'new'), join(target, '..data_tmp'))
    })
    const spy = vi.spyOn(Calls.prototype, 'symlink')
    spy.mockImplementation(async function (this: Calls, to, at) {
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

  test('renamed and back: nothing is doubled, and close() leaves nothing', async () => {
    const { source, target, start } = fixture()
    await writeFile(join(source, 'a'), '1')
    const mirror = await start()
    mirror.on('error', () => {})
    await rename(target, `${target}.away`)
    await mirror.refresh()
    await rm(target, { recursive: true })
    await rename(`${target}.away`, target)
    await mirror.refresh()
    expect(await contentOf(target)).toEqual(['a'])
    await mirror.close()
    expect(existsSync(target)).toBe(false)
  })

  test('removed just before close(), which has nothing to remove then', async () => {
    const { source, target, start } = fixture()
    await writeFile(join(source, 'a'), '1')
    const mirror = await start()
    await rm(target, { recursive: true })
    await mirror.close()
    expect(existsSync(target)).toBe(false)
  })

  test('one that is immutable is named', async ({ skip }) => {
    const { source } = fixture()
    const target = directory()
    await writeFile(join(source, 'a'), '1')
    if (spawnSync('chattr', ['+i', target]).status !== 0) skip('needs root and a file system with chattr +i')
    const free = () => spawnSync('chattr', ['-i', target])
    onTestFinished(() => void free())
    await expect(begin(source, target)).rejects.toMatchObject({ code: 'EPERM', path: target })
    free()
    const started = await begin(source, target, { interval: 60_000, quiet: 5 })
    onTestFinished(() => started.close())
    onTestFinished(() => void free())
    const { errors } = said(started)
    spawnSync('chattr', ['+i', target])
    await writeFile(join(source, 'a'), '2')
    await writeFile(join(source, 'b'), '2')
    await started.refresh()
    await started.refresh()
    expect(errors.length).toBeGreaterThan(0)
    for (const error of errors)
      expect(error).toMatchObject({ code: 'EPERM', path: expect.stringContaining(target) })
    expect(errors[0]?.message).toContain('immutable')
    free()
    await started.refresh()
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
    expect(await contentOf(target)).toEqual((await readdir(source)).sort())
  })
})

describe('attributes are changed in place of the very file that was published', () => {
  /** Runs `meanwhile` right before the mirror opens `name` in the target to change its mode. */
  function beforeHolding(name: string, meanwhile: () => void) {
    const { hold } = HeldDirectory.prototype
    const spy = vi.spyOn(HeldDirectory.prototype, 'hold')
    const once = vi.fn(meanwhile)
    spy.mockImplementation(async function (this: HeldDirectory, entry) {
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

  test('what is removed is the directory that was published, not one that has its name', async () => {
    const { source, target, start } = fixture()
    await mkdir(join(source, 'd'))
    await writeFile(join(source, 'd/file'), '')
    const mirror = await start()
    await mkdir(join(target, 'victim'))
    await writeFile(join(target, 'victim/file'), 'theirs')
    const { directory: open } = HeldDirectory.prototype
    const spy = vi.spyOn(HeldDirectory.prototype, 'directory')
    let isRemoving = false
    const swapped = vi.fn(() => {
      renameSync(join(target, 'd'), join(target, 'd.away'))
      renameSync(join(target, 'victim'), join(target, 'd'))
    })
    spy.mockImplementation(async function (this: HeldDirectory, entry) {
      if (entry === 'd' && isRemoving) swapped()
      return await open.call(this, entry)
    })
    onTestFinished(() => spy.mockRestore())
    const { unlink: original } = Calls.prototype
    const unlinking = vi.spyOn(Calls.prototype, 'unlink')
    unlinking.mockImplementation(function (this: Calls, at, flags) {
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
})
