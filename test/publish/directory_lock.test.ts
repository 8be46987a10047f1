// One publisher at a time: others wait for the lock of the directory, though not for ever.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { publishDirectory } from '../../src/index.ts'
import { CallError } from '../../src/mounts/syscalls/call_error.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { openDescriptors } from '../support/descriptors.ts'
import { scratch } from '../support/scratch.ts'
import { data, published, read } from './published.ts'

test('several at once wait for each other: the last one is whole, and nothing is left', async () => {
  const directory = join(scratch(), 'new')
  const before = openDescriptors()
  const all = Array.from({ length: 20 }, (_, n) =>
    publishDirectory(directory, { a: `${n}`, b: `${n}`, [`c${n}`]: '' }),
  )
  expect(await Promise.all(all)).toEqual(all.map(() => ({ changed: true })))
  const last = read(directory, 'a')
  expect(read(directory, 'b')).toBe(last)
  expect(readdirSync(directory).sort()).toEqual(['..data', data(directory), 'a', 'b', `c${last}`].sort())
  await vi.waitFor(() => expect(openDescriptors()).toBeLessThanOrEqual(before), {
    timeout: 60_000,
    interval: 5,
  })
})

test("another process's lock is waited for", async ({ skip }) => {
  if (spawnSync('flock', ['--version']).error !== undefined) skip('needs flock(1)')
  const directory = await published({ a: '1' })
  const holder = spawn('flock', [directory, 'sh', '-c', 'echo held; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  const lock = vi.spyOn(SyscallThread.prototype, 'lock')
  onTestFinished(() => void vi.restoreAllMocks())
  const publishing = publishDirectory(directory, { a: '2' })
  await vi.waitFor(() => expect(lock).toHaveBeenCalled(), { timeout: 60_000 })
  expect(await Promise.race([publishing, new Promise((resolve) => setTimeout(resolve, 100, 'waits'))])).toBe(
    'waits',
  )
  expect(read(directory, 'a')).toBe('1')
  holder.stdin.end()
  await publishing
  expect(read(directory, 'a')).toBe('2')
})

test('a lock that is never given back: EBUSY after 30 s, and one thread waits for all calls of the process', async () => {
  const directory = await published({ a: '1' })
  vi.spyOn(SyscallThread.prototype, 'lock').mockRejectedValue(new CallError(constants.errno.EAGAIN, 'flock'))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })
  const threads = () => readdirSync('/proc/self/task').length
  const before = threads()
  let ended = 0
  const all = Array.from({ length: 50 }, async (_, n) => {
    await expect(publishDirectory(directory, { a: `${n}` })).rejects.toMatchObject({
      code: 'EBUSY',
      path: directory,
    })
    ended++
  })
  await vi.advanceTimersByTimeAsync(29_000)
  expect(ended).toBe(0)
  expect(threads() - before).toBeLessThan(10)
  await vi.waitFor(() => vi.advanceTimersByTimeAsync(1000).then(() => expect(ended).toBe(50)), {
    timeout: 60_000,
  })
  await Promise.all(all)
})

test('a file system without locks of directories does without', async () => {
  const directory = scratch()
  vi.spyOn(SyscallThread.prototype, 'lock').mockRejectedValue(new CallError(9, 'flock'))
  onTestFinished(() => void vi.restoreAllMocks())
  expect(await publishDirectory(directory, { a: '1' })).toEqual({ changed: true })
})
