import { execFile, spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { CallError } from '../../src/mounts/syscalls/call_error.ts'
import type { FileStat } from '../../src/mounts/syscalls/file_stat.ts'
import {
  LOCK_EX,
  LOCK_NB,
  O_PATH,
  RENAME_EXCHANGE,
  SyscallThread,
} from '../../src/mounts/syscalls/syscall_thread.ts'
import { descriptorsOf, openDescriptors } from '../support/descriptors.ts'
import { scratch } from '../support/scratch.ts'

const { O_DIRECTORY, O_RDONLY } = constants
const isBuilt = existsSync(join(import.meta.dirname, '../../out/mounts/syscalls/syscall_thread.js'))
const PATIENCE = { timeout: 60_000, interval: 5 }
const threads = () => readdirSync('/proc/self/task').length

function open(): SyscallThread {
  const calls = new SyscallThread()
  onTestFinished(() => calls.end())
  return calls
}

async function openDirectory(calls = open()) {
  const path = scratch()
  const { fd } = await calls.open(path, O_PATH | O_DIRECTORY)
  return { calls, path, fd, at: (name: string) => ({ fd, name }) }
}

function makeFifo(path: string): void {
  if (spawnSync('mkfifo', [path]).status !== 0) throw new Error('mkfifo failed')
}

/**
 * Makes a call that gets no answer: opening a FIFO waits for its other end, as statx(2) does for a stopped
 * virtiofsd.
 */
async function stuck(calls: SyscallThread, path: string) {
  makeFifo(path)
  const opened = calls.open(path, O_RDONLY)
  opened.catch(() => {})
  // The call must be on the thread and no longer in the queue. Reading /proc/self/task/N/wchan would need
  // more rights than a test has, so this waits for long enough, even if the thread has to wait for a
  // processor.
  await vi.waitFor(() => expect(calls.unanswered).toBeGreaterThan(300), PATIENCE)
  return {
    opened,
    release: () => closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)),
  }
}

test('what the calls do and give is what the system calls do and give', async () => {
  const { calls, path, fd, at } = await openDirectory()
  await calls.mkdir(at('sub'), 0o700)
  const { fd: file } = await calls.create(at('file'), 0o640)
  await calls.write(file, Buffer.from('content'))
  await calls.chmod(file, 0o604)
  await calls.chown(file, process.getuid?.() ?? 0, process.getgid?.() ?? 0)
  calls.close(file)
  await calls.symlink('file', at('link'))
  await calls.link(at('file'), at('hard'))
  await calls.rename(at('file'), at('sub'), RENAME_EXCHANGE)
  expect(readFileSync(join(path, 'sub'), 'utf8')).toBe('content')
  expect(statSync(join(path, 'sub')).mode & 0o7777).toBe(0o604)
  expect(statSync(join(path, 'file')).isDirectory()).toBe(true)
  expect(readlinkSync(join(path, 'link'))).toBe('file')
  expect(await calls.readlink(at('link'))).toBe('file')
  expect((await calls.names(fd, 10)).map(String).sort()).toEqual(['file', 'hard', 'link', 'sub'])
  expect(await calls.names(fd, 2)).toHaveLength(2)
  expect(await calls.fileSystem(fd)).toBeGreaterThan(0)
  await calls.lookUpAgain(at('sub'))

  const stat = await calls.stat(at('sub'))
  const expected = statSync(join(path, 'sub'), { bigint: true })
  for (const key of ['ino', 'mode', 'uid', 'gid', 'size', 'mtimeNs', 'ctimeNs', 'nlink'] as const)
    expect(stat[key], key).toBe(expected[key])
  expect((await calls.stat(at('link'))).isSymbolicLink()).toBe(true)
  expect((await calls.stat(at(''))).isDirectory()).toBe(true)

  const { fd: regular } = await calls.openRegular({ ...at('sub'), revalidate: true })
  expect((await calls.read(regular, 4)).toString()).toBe('cont')
  expect((await calls.read(regular, 100)).toString()).toBe('ent')
  expect(await calls.read(regular, 100)).toHaveLength(0)
  const begun = await calls.openRegular(at('sub'), 4)
  expect(begun.content.toString()).toBe('cont')
  expect(begun.after).toEqual(begun.stat)
  expect((await calls.read(begun.fd, 100)).toString()).toBe('ent')
  await expect(calls.openRegular(at('sub'), 2 ** 40)).rejects.toMatchObject({ code: 'EINVAL' })
  await calls.unlink(at('sub'))
  await calls.unlink(at('file'), 0x200)
  expect(existsSync(join(path, 'file'))).toBe(false)
})

test('what has been written is on the disk when sync() says so, of directories too; not of O_PATH', async () => {
  const { calls, path, fd, at } = await openDirectory()
  const { fd: file } = await calls.create(at('file'), 0o600)
  await calls.sync(file)
  await calls.sync((await calls.open(path, O_RDONLY | O_DIRECTORY)).fd)
  await expect(calls.sync(fd)).rejects.toMatchObject({ code: 'EBADF', syscall: 'fsync' })
})

test('a lock is one descriptor, until it is closed', async () => {
  const { calls, at } = await openDirectory()
  const { fd: one } = await calls.create(at('file'), 0o600)
  const { fd: other } = await calls.openRegular(at('file'))
  await calls.lock(one, LOCK_EX)
  await calls.lock(one, LOCK_EX | LOCK_NB)
  await expect(calls.lock(other, LOCK_EX | LOCK_NB)).rejects.toMatchObject({
    code: 'EAGAIN',
    syscall: 'flock',
  })
  // On a thread of its own the call waits.
  const waiting = open()
  const third = await waiting.open(`/proc/self/fd/${other}`, O_RDONLY)
  const locked = waiting.lock(third.fd, LOCK_EX)
  await vi.waitFor(() => expect(waiting.unanswered).toBeGreaterThan(20), PATIENCE)
  await calls.close(one)
  await locked
})

test('times are copied to the nanosecond, both or the last change alone', async () => {
  const { calls, path, at } = await openDirectory()
  writeFileSync(join(path, 'from'), '')
  spawnSync('touch', ['-a', '-d', '2001-02-03 04:05:06.123456789Z', join(path, 'from')])
  spawnSync('touch', ['-m', '-d', '1969-02-03 04:05:06.987654321Z', join(path, 'from')])
  const { fd: from } = await calls.openRegular(at('from'))
  const { fd: to } = await calls.create(at('to'), 0o600)
  const times = (name: string) => {
    const { atimeNs, mtimeNs } = statSync(join(path, name), { bigint: true })
    return { atimeNs, mtimeNs }
  }
  const { atimeNs } = times('to')
  await calls.copyTimes(from, to, true)
  expect(times('to')).toEqual({ atimeNs, mtimeNs: times('from').mtimeNs })
  await calls.copyTimes(from, to)
  expect(times('to')).toEqual(times('from'))
  await expect(calls.copyTimes(from, -1)).rejects.toMatchObject({ code: 'EBADF', syscall: 'utimensat' })
})

test('a failure has the shape of node:fs', async () => {
  const { calls, at } = await openDirectory()
  const error = {
    code: 'ENOENT',
    errno: -2,
    syscall: 'statx',
    message: /^ENOENT: no such file or directory, statx$/,
  }
  await expect(calls.stat(at('missing'))).rejects.toMatchObject({
    ...error,
    message: expect.stringMatching(error.message),
  })
  await expect(calls.read(-1, 10)).rejects.toMatchObject({ code: 'EBADF', syscall: 'read' })
  // libuv's table lacks this errno.
  expect(new CallError(116, 'statx').message).toBe('ESTALE: stale file handle, statx')
  await expect(calls.read(0, 2 ** 40)).rejects.toMatchObject({ code: 'EINVAL' })
})

test('nothing outside the directory is opened, and no symlink followed', async () => {
  const { calls, path, at } = await openDirectory()
  writeFileSync(join(path, 'file'), '')
  symlinkSync('file', join(path, 'inside'))
  symlinkSync('/etc/passwd', join(path, 'outside'))
  for (const name of ['inside', 'outside']) {
    await expect(calls.openRegular(at(name))).rejects.toMatchObject({ code: 'EPROTOTYPE' })
    await expect(calls.openBeneath(at(name), O_RDONLY)).rejects.toMatchObject({ code: 'ELOOP' })
  }
  for (const name of ['..', '../x', 'sub/file', '/etc/passwd', 'file/.'])
    await expect(calls.openBeneath(at(name), O_PATH)).rejects.toMatchObject({ code: 'EINVAL' })
})

test('a FIFO is never opened to be read', async () => {
  const { calls, path, at } = await openDirectory()
  makeFifo(join(path, 'fifo'))
  // If the FIFO were open for reading at any moment, this open would succeed.
  const writer = calls.openRegular(at('fifo'))
  await expect(writer).rejects.toMatchObject({ code: 'EPROTOTYPE' })
  expect(() => openSync(join(path, 'fifo'), constants.O_WRONLY | constants.O_NONBLOCK)).toThrow('ENXIO')
})

describe('waiting for a change', () => {
  const probe = (fd: number, key: FileStat, name = '') => ({ fd, name, revalidate: false, key })
  const PACE = { soon: 1, interval: 4, limit: 60_000 }

  test.each([
    ['in place', (file: string) => writeFileSync(file, 'twO')],
    ['only its mode', (file: string) => chmodSync(file, 0o600)],
    ['with its mtime put back', (file: string) => utimesSync(file, 1, 1)],
    ['removed', (file: string) => rmSync(file)],
  ])('a file that is changed: %s', async (_, change) => {
    const { calls, path, fd, at } = await openDirectory()
    writeFileSync(join(path, 'file'), 'one')
    utimesSync(join(path, 'file'), 1, 1)
    const key = await calls.stat(at('file'))
    const { fd: held, stat } = await calls.openBeneath(at('file'), O_PATH)
    expect(stat.ctimeNs).toBe(key.ctimeNs)
    for (const watched of [probe(fd, key, 'file'), probe(held, key)]) {
      const waited = calls.awaitChange([watched], PACE, true)
      const early = await Promise.race([waited, new Promise((resolve) => setTimeout(resolve, 30, 'waits'))])
      if (watched.name !== '') expect(early).toBe('waits')
      if (watched.name !== '') change(join(path, 'file'))
      expect((await waited).ended).toBe('changed')
    }
  })

  test('quiet, after the limit; and another call is not kept waiting', async () => {
    const { calls, fd, at } = await openDirectory()
    const key = await calls.stat(at(''))
    const { ended, longest } = await calls.awaitChange([probe(fd, key)], { ...PACE, limit: 20 }, true)
    expect(ended).toBe('quiet')
    expect(longest).toBeGreaterThan(0)
    const waiting = calls.awaitChange([probe(fd, key)], { ...PACE, interval: 60_000, soon: 60_000 }, true)
    expect(calls.unanswered).toBe(0)
    await calls.stat(at(''))
    expect((await waiting).ended).toBe('interrupted')
  })

  test('what makes no sense is EINVAL', async () => {
    const { calls } = await openDirectory()
    await expect(calls.awaitChange([], PACE, true)).rejects.toMatchObject({ code: 'EINVAL' })
  })
})

describe('a call that is not answered', () => {
  test('holds up nothing else, and is ECANCELED at the end', async () => {
    const { calls, path, at } = await openDirectory()
    const before = { threads: threads(), descriptors: openDescriptors() }
    const dead = open()
    const { fd: held } = await dead.open(path, O_PATH)
    const { opened, release } = await stuck(dead, join(path, 'fifo'))
    const behind = dead.stat({ fd: held, name: '' })
    expect((await calls.stat(at(''))).isDirectory()).toBe(true)
    dead.end()
    await expect(opened).rejects.toMatchObject({ code: 'ECANCELED', syscall: 'open' })
    await expect(behind).rejects.toMatchObject({ code: 'ECANCELED', syscall: 'statx' })
    await expect(dead.stat(at(''))).rejects.toMatchObject({ code: 'ECANCELED' })
    // The call is answered after all: its descriptor is closed, and so are the held ones.
    release()
    await vi.waitFor(() => {
      expect(threads()).toBeLessThanOrEqual(before.threads)
      expect(openDescriptors()).toBeLessThanOrEqual(before.descriptors)
    }, PATIENCE)
  })

  test('what was opened is closed at the end, and a close after it is none of another file', async () => {
    const { path } = await openDirectory()
    // Counts only descriptors of this directory: a thread may meanwhile close descriptors that earlier tests
    // have left.
    const before = descriptorsOf(path)
    const calls = open()
    const opened = await Promise.all(Array.from({ length: 20 }, () => calls.open(path, O_PATH)))
    // The thread has answered, and JavaScript has not heard of the answer yet.
    const late = calls.open(path, O_PATH)
    late.catch(() => {})
    calls.end()
    for (const { fd } of opened) calls.close(fd)
    await vi.waitFor(() => expect(descriptorsOf(path)).toBe(before), PATIENCE)
    // The new descriptors get the numbers of the closed ones.
    const others = opened.map(() => openSync(path, O_RDONLY))
    for (const { fd } of opened) calls.close(fd)
    await open().stat({ fd: others[0] as number, name: '' })
    for (const other of others) closeSync(other)
  })
})

describe.skipIf(!isBuilt)('in a process of its own (needs dist)', () => {
  const run = (program: string, path: string) =>
    promisify(execFile)(process.execPath, [join(import.meta.dirname, program), path], { timeout: 240_000 })

  test('a wait keeps the process alive if it is to, and not otherwise; nor does an idle thread', async () => {
    const { stdout } = await run('calls_child.mjs', scratch())
    expect(stdout).toBe('')
  })

  test('30 workers are terminated wherever they are in a call: nothing is left, and none aborts', async () => {
    const { stdout } = await run('calls_workers.mjs', scratch())
    expect(JSON.parse(stdout)).toEqual({ terminated: 30 })
  })
})

test('the text of a link is that of the very link whose stat it comes with', async () => {
  const { calls, path, at } = await openDirectory()
  const other = open()
  symlinkSync('a'.repeat(10), join(path, 'link'))
  symlinkSync('b'.repeat(2000), join(path, 'other'))
  const { fd: theirs } = await other.open(path, O_PATH | O_DIRECTORY)
  const sizes = new Set<bigint>()
  // The two threads compete: one exchanges the links that the other looks at.
  for (let round = 0; round < 20; round++) {
    // The number is odd, so that each round begins with the other link.
    const exchanges = Array.from({ length: 501 }, () =>
      other.rename({ fd: theirs, name: 'link' }, { fd: theirs, name: 'other' }, RENAME_EXCHANGE),
    )
    const looks = await Promise.all(Array.from({ length: 500 }, () => calls.stat(at('link'))))
    await Promise.all(exchanges)
    for (const { size, link } of looks) {
      expect(BigInt(link.length)).toBe(size)
      sizes.add(size)
    }
  }
  expect(sizes).toEqual(new Set([10n, 2000n]))
})
