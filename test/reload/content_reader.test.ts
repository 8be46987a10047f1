import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { ContentReader } from '../../src/reload/content_reader.ts'
import { scratch } from '../support/scratch.ts'

function reading(...paths: string[]) {
  const calls = new SyscallThread()
  onTestFinished(() => calls.end())
  return new ContentReader(calls, paths)
}

/** Does something right after the n-th chunk was read: the first of a file comes when that is opened. */
function whileReading(n: number, meanwhile: () => unknown) {
  const { read, openRegular } = SyscallThread.prototype
  let chunks = 0
  const readOne = async <T>(chunk: Promise<T>): Promise<T> => {
    await chunk
    if (++chunks === n) await meanwhile()
    return chunk
  }
  const spies = [
    vi.spyOn(SyscallThread.prototype, 'read').mockImplementation(function (this: SyscallThread, ...asked) {
      return readOne(read.apply(this, asked))
    }),
    vi.spyOn(SyscallThread.prototype, 'openRegular').mockImplementation(function (
      this: SyscallThread,
      ...asked
    ) {
      return readOne(openRegular.apply(this, asked))
    }),
  ]
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore()
  })
  return () => chunks
}

const keysOf = async (reader: ContentReader) => [...(await reader.read()).keys.keys()].sort()

test('names and content count, and nothing else: not the times, not the mode, not the inode', async () => {
  const directory = scratch()
  const path = join(directory, 'a')
  writeFileSync(path, 'one')
  const reader = reading(directory)
  const { digest } = await reader.read()
  chmodSync(path, 0o600)
  writeFileSync(`${path}~`, 'one')
  spawnSync('mv', [`${path}~`, path])
  mkdirSync(join(directory, 'empty'))
  expect((await reader.read()).digest).toBe(digest)
  writeFileSync(join(directory, 'empty/b'), '')
  expect((await reader.read()).digest).not.toBe(digest)
})

test('a file that is written while it is read is moving, and never taken in part', async () => {
  const path = join(scratch(), 'a')
  writeFileSync(path, Buffer.alloc(600_000, 'a'))
  const chunks = whileReading(1, () => writeFileSync(path, Buffer.alloc(600_000, 'b')))
  const { keys, moving } = await reading(path).read()
  // The file has three chunks.
  expect(chunks()).toBe(2)
  expect([[...keys], [...moving]]).toEqual([[['a', '']], ['a']])
})

test('after a swap between two keys the first, which is of the version before, is moving', async () => {
  const directory = scratch()
  await atomicWrite(directory, { a: 'one', b: 'one' })
  whileReading(1, () => atomicWrite(directory, { a: 'two', b: 'two' }))
  const { moving } = await reading(directory).read()
  expect([...moving]).toEqual(['a'])
})

test('what never holds still is named, and keeps nothing else from being read', async () => {
  const directory = scratch()
  const path = join(directory, 'log')
  for (const name of ['a', 'log', 'z']) writeFileSync(join(directory, name), 'one')
  const fd = openSync(path, 'a')
  onTestFinished(() => closeSync(fd))
  const calls = new SyscallThread()
  onTestFinished(() => calls.end())
  const { openRegular } = calls
  calls.openRegular = async (...asked) => {
    const opened = await openRegular.apply(calls, asked)
    writeSync(fd, 'more')
    return opened
  }
  const { moving, keys } = await new ContentReader(calls, [directory]).read()
  expect([...moving]).toEqual(['log'])
  expect(keys.get('a')).toBe(keys.get('z'))
})

test('a FIFO, a socket and a device are never opened, nor waited for', async () => {
  const directory = scratch()
  spawnSync('mkfifo', [join(directory, 'fifo')])
  symlinkSync('fifo', join(directory, 'link'))
  symlinkSync('/dev/zero', join(directory, 'zero'))
  writeFileSync(join(directory, 'a'), '')
  expect(await keysOf(reading(directory))).toEqual(['a', 'fifo', 'link', 'zero'])
  await expect(reading(join(directory, 'fifo')).read()).rejects.toMatchObject({
    code: 'EINVAL',
    hint: 'it is neither a file nor a directory',
  })
})

test('links to nowhere, and in circles, are what they are', async () => {
  const directory = scratch()
  symlinkSync('nowhere', join(directory, 'dangling'))
  symlinkSync('b', join(directory, 'a'))
  symlinkSync('a', join(directory, 'b'))
  symlinkSync('.', join(directory, 'self'))
  mkdirSync(join(directory, 'sub'))
  symlinkSync('..', join(directory, 'sub/up'))
  const reader = reading(join(directory, 'sub'))
  expect(await keysOf(reading(directory))).toEqual(['a', 'b', 'dangling'])
  expect((await reader.read()).outward).toEqual([join(directory, 'sub/up')])
})

test('a large file is read in chunks', async () => {
  const path = join(scratch(), 'large')
  writeFileSync(path, '')
  truncateSync(path, 20 * 1024 * 1024)
  const read = vi.spyOn(SyscallThread.prototype, 'read')
  onTestFinished(() => read.mockRestore())
  await reading(path).read()
  expect(Math.max(...read.mock.calls.map(([, most]) => most))).toBe(256 * 1024)
  expect(read.mock.calls.length).toBeGreaterThanOrEqual(80)
})

test.skipIf(process.getuid?.() === 0)('what cannot be read is said: its content is not known', async () => {
  const directory = scratch()
  writeFileSync(join(directory, 'secret'), '', { mode: 0 })
  await expect(reading(directory).read()).rejects.toMatchObject({
    code: 'EACCES',
    path: join(directory, 'secret'),
    hint: expect.stringContaining('until it can be read'),
  })
})

test('a link that is no UTF-8, or leads to what is none, is what it leads to', async () => {
  const directory = scratch()
  const path = (name: string) => Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name, 'latin1')])
  mkdirSync(path('\xfd'))
  writeFileSync(path('\xfd/\xfe'), 'one')
  symlinkSync(Buffer.from('\xfd/\xfe', 'latin1'), path('link'))
  symlinkSync('link', path('\xff'))
  const { keys } = await reading(directory).read()
  expect([...keys.keys()].sort()).toEqual(['link', '\xfd/\xfe', '\xff'])
  expect(new Set(keys.values()).size).toBe(1)
  writeFileSync(path('\xfd/\xfe'), 'two')
  const after = (await reading(directory).read()).keys
  expect([...after].filter(([key, content]) => keys.get(key) !== content)).toHaveLength(3)
  symlinkSync(Buffer.from('\xf0', 'latin1'), path('dangling'))
  expect((await reading(directory).read()).keys.get('dangling')).toBe('nowhere: \xf0')
})

test('a link that is no UTF-8 and leads out of its directory is an error, not a key that stays as it is for ever', async () => {
  const directory = scratch()
  symlinkSync('../elsewhere', Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xff])]))
  await expect(reading(directory).read()).rejects.toMatchObject({ code: 'EILSEQ' })
})

test('names that links make long are not kept without end', async () => {
  const directory = scratch('/dev/shm')
  const at = (n: number) => join(directory, String(n))
  for (let n = 0; n < 31; n++) mkdirSync(at(n))
  for (let n = 0; n < 30; n++) symlinkSync(at(n + 1), join(at(n), 'l'.repeat(255)))
  // Each path has 7,900 characters.
  for (let n = 0; n < 2250; n++) writeFileSync(join(at(30), `${'f'.repeat(200)}${n}`), '')
  await expect(reading(at(0)).read()).rejects.toMatchObject({
    code: 'E2BIG',
    path: at(0),
    hint: expect.stringContaining('more than 16 MiB'),
  })
})

test('where links lead out, their paths count as well', async () => {
  const directory = scratch('/dev/shm')
  const at = (n: number) => join(directory, String(n))
  for (let n = 0; n < 31; n++) mkdirSync(at(n))
  for (let n = 0; n < 30; n++) symlinkSync(at(n + 1), join(at(n), 'l'.repeat(255)))
  // Their keys alone are 9 MB.
  for (let n = 0; n < 1150; n++) symlinkSync('/no/such', join(at(30), `${'f'.repeat(200)}${n}`))
  await expect(reading(at(0)).read()).rejects.toMatchObject({ code: 'E2BIG', path: at(0) })
})

test('more than 256 MiB are not read, in one file or in several: it is said at once', async () => {
  const directory = scratch()
  const [path, other] = [join(directory, 'a'), join(directory, 'b')]
  writeFileSync(path, '')
  truncateSync(path, 2 ** 40)
  const chunks = whileReading(-1, () => {})
  const tooBig = { code: 'E2BIG', hint: expect.stringContaining('more than 256 MiB') }
  await expect(reading(directory).read()).rejects.toMatchObject({ ...tooBig, path })
  expect(chunks()).toBe(1)
  truncateSync(path, 2 ** 20)
  writeFileSync(other, '')
  truncateSync(other, 2 ** 28)
  await expect(reading(directory).read()).rejects.toMatchObject({ ...tooBig, path: other })
  expect(chunks()).toBeLessThan(10)
})

test('a large file that is replaced while it is read is not read to its end', async () => {
  const path = join(scratch(), 'a')
  writeFileSync(path, '')
  truncateSync(path, 200 * 1024 * 1024)
  writeFileSync(`${path}~`, 'new')
  const chunks = whileReading(2, () => renameSync(`${path}~`, path))
  expect([...(await reading(path).read()).moving]).toEqual(['a'])
  expect(chunks()).toBeLessThan(10)
})

test("files of the kernel's are not opened, by a link neither", async () => {
  const directory = scratch()
  const link = join(directory, 'link')
  for (const to of ['/proc/sys/kernel/hostname', '/sys/kernel/uevent_seqnum']) {
    symlinkSync(to, link)
    const opened = vi.spyOn(SyscallThread.prototype, 'openRegular')
    onTestFinished(() => opened.mockRestore())
    const refused = { code: 'EINVAL', hint: expect.stringContaining("a file of the kernel's") }
    await expect(reading(directory).read()).rejects.toMatchObject({ ...refused, path: link })
    await expect(reading(to).read()).rejects.toMatchObject({ ...refused, path: to })
    expect(opened).not.toHaveBeenCalled()
    rmSync(link)
  }
})
