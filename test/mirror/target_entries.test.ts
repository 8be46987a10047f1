// Others change or remove entries in the target: what is the mirror's comes back.
import {
  appendFile,
  chmod,
  mkdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { begin, directory, fixture } from './fixture.ts'
import { shownIn } from './names.ts'
import { said } from './said.ts'

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
    return { content: await Promise.all(found), names: await shownIn(target) }
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
    const mirror = await begin([source, other], target)
    for (const key of ['a', 'b', '..data/a', '..data/b', '..data']) {
      await rm(join(target, key))
      await mirror.refresh()
      await mirror.refresh()
      expect(await readFile(join(target, 'a'), 'utf8'), key).toBe('1')
      expect(await readFile(join(target, 'b'), 'utf8'), key).toBe('2')
    }
  })
})

test('a directory removed while its files are being copied, one of them unchanged but for its time', async () => {
  const { source, target, start } = fixture()
  await mkdir(join(source, 'd'))
  for (const name of ['a', 'b']) await writeFile(join(source, 'd', name), '1')
  const mirror = await start()
  await writeFile(join(source, 'd/a'), '2')
  await writeFile(join(source, 'd/b'), '1')
  const { create } = SyscallThread.prototype
  const removed = vi.fn(() => rm(join(target, 'd'), { recursive: true }))
  const spy = vi.spyOn(SyscallThread.prototype, 'create')
  spy.mockImplementation(async function (this: SyscallThread, at, mode) {
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
  const mirror = await begin([source, other], target, { limits, overLimit: 'hold' })
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
  }, 60_000)
  expect(passes.mock.calls.length).toBeLessThan(40)
  expect(errors).toMatchObject([{ code: 'ENODATA', path: target }])
  expect(errors[0]?.message).toContain(`b of ${other}`)
})

test.each([
  ['ConfigMaps', atomicWrite],
  [
    'flat directories',
    async (path: string, files: Record<string, string>) => {
      for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content)
    },
  ],
])('of many %s nothing is said to be lost that each of them gives again', async (_, put) => {
  const { target } = fixture()
  const sources = Array.from({ length: 7 }, () => directory())
  for (const [index, path] of sources.entries()) await put(path, { [`key${index}`]: '1' })
  const mirror = await begin(sources, target)
  const { errors } = said(mirror)
  for (const name of await shownIn(target)) await rm(join(target, name), { recursive: true })
  for (let n = 0; n < 2; n++) await mirror.refresh()
  for (const index of sources.keys()) expect(await readFile(join(target, `key${index}`), 'utf8')).toBe('1')
  expect(errors).toEqual([])
})

test('nor what one gives whose pass takes longer than those of the others', async () => {
  const { source, target } = fixture()
  const [slow, other] = [directory(), directory()]
  await atomicWrite(source, { x: 'first', y: '1' })
  await writeFile(join(slow, 'z'), '1')
  await atomicWrite(other, { o: '1' })
  const mirror = await begin([source, slow, other], target, { quiet: 200 })
  const { errors } = said(mirror)
  await writeFile(join(slow, 'x'), 'second')
  await mirror.refresh()
  expect(errors.splice(0)).toMatchObject([{ code: 'EEXIST' }])
  await atomicWrite(source, { y: '2' })
  for (let n = 0; n < 2; n++) await mirror.refresh()
  expect(await readFile(join(target, 'x'), 'utf8')).toBe('second')
  expect(errors).toEqual([])
})

test('keys that a held source cannot give again are said to be missing', async () => {
  const { source, target } = fixture()
  const other = directory()
  const flat = directory()
  await atomicWrite(source, { a: '1' })
  await atomicWrite(other, { k: '1', l: '1' })
  await writeFile(join(flat, 'file'), '1')
  const limits = { files: 5, bytes: 1e6 }
  const mirror = await begin([source, other, flat], target, { limits, overLimit: 'hold' })
  const { errors } = said(mirror)
  await atomicWrite(other, { k: '2', l: '2', m: '', n: '', o: '', p: '' })
  await mirror.refresh()
  expect(errors).toEqual([])
  await unlink(join(target, '..data/k'))
  await atomicWrite(source, { a: '2' })
  await vi.waitFor(async () => {
    await mirror.refresh()
    expect(errors).toMatchObject([{ code: 'ENODATA', path: target }])
  }, 60_000)
  expect(errors[0]?.message).toContain(other)
  // Entries that are no keys do not wait for the missing keys.
  await writeFile(join(flat, 'file'), '2')
  // A directory with a link to one of the missing keys does.
  await mkdir(join(flat, 'd'))
  await symlink('../..data/new', join(flat, 'd/new'))
  await atomicWrite(source, { a: '2', new: '2' })
  await mirror.refresh()
  await mirror.refresh()
  expect(await readFile(join(target, 'file'), 'utf8')).toBe('2')
  expect(await shownIn(target)).not.toContain('d')
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('1')
  await atomicWrite(other, { k: '3', l: '3' })
  await mirror.refresh()
  await mirror.refresh()
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
  expect(await readFile(join(target, 'k'), 'utf8')).toBe('3')
  expect(await readFile(join(target, 'd/new'), 'utf8')).toBe('2')
  expect(mirror.errors).toEqual([])
})

test('a generation in which something is replaced as it is put in place goes with the next one', async () => {
  const { source, target, start } = fixture()
  await atomicWrite(source, { a: '1', 'd/e/f': '1' })
  const mirror = await start()
  const { rename } = SyscallThread.prototype
  const renaming = vi.spyOn(SyscallThread.prototype, 'rename')
  renaming.mockImplementation(async function (this: SyscallThread, from, to, flags) {
    await rename.call(this, from, to, flags)
    if (String(to.name) !== '..data') return
    renaming.mockRestore()
    await rm(join(target, 'd/e'), { recursive: true })
    await writeFile(join(target, 'd/e'), 'theirs')
    await atomicWrite(source, { a: '3', 'd/e/f': '3' })
  })
  onTestFinished(() => renaming.mockRestore())
  await atomicWrite(source, { a: '2', 'd/e/f': '2' })
  await mirror.refresh()
  await mirror.refresh()
  expect(await readFile(join(target, 'd/e/f'), 'utf8')).toBe('3')
  const generations = (await shownIn(target)).filter((name) => /^\.\.\d/.test(name))
  expect(generations).toEqual([await readlink(join(target, '..data'))])
})
