import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { MAX_INPUT_BYTES, readInput } from '../../src/cli/publish/input.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN } from './command.ts'

const { signal } = new AbortController()

test('a file over 64 MiB is refused by its size, before it is read', async () => {
  const path = join(scratch(), 'file')
  writeFileSync(path, '')
  truncateSync(path, MAX_INPUT_BYTES + 1)
  const read = vi.spyOn(SyscallThread.prototype, 'read')
  onTestFinished(() => void vi.restoreAllMocks())
  const refused = readInput(path, signal)
  await expect(refused).rejects.toMatchObject({ code: 'EFBIG', path })
  await expect(refused).rejects.toThrow(/more than 64 MiB/)
  expect(read).not.toHaveBeenCalled()
  truncateSync(path, MAX_INPUT_BYTES)
  expect((await readInput(path, signal)).data).toHaveLength(MAX_INPUT_BYTES)
})

test('what has no size, or another one when it is read, is read no further than that', async () => {
  let read = 0
  const original = SyscallThread.prototype.read
  vi.spyOn(SyscallThread.prototype, 'read').mockImplementation(async function (
    this: SyscallThread,
    fd,
    most,
  ) {
    const chunk = await original.call(this, fd, most)
    read += chunk.length
    return chunk
  })
  onTestFinished(() => void vi.restoreAllMocks())
  await expect(readInput('/dev/zero', signal)).rejects.toMatchObject({ code: 'EFBIG' })
  expect(read).toBeLessThanOrEqual(MAX_INPUT_BYTES + 1)
})

test('stdin is read no further either', () => {
  const path = join(scratch(), 'dest')
  const command = '"$0" "$1" publish - "$2" </dev/zero'
  const piped = 'cat /dev/zero | "$0" "$1" publish - "$2"'
  for (const script of [command, piped]) {
    const args = ['-c', script, process.execPath, MAIN, path]
    const { status, stderr } = spawnSync('sh', args, { encoding: 'utf8', timeout: 60_000 })
    expect([status, stderr]).toEqual([1, expect.stringMatching(/EFBIG.*stdin.*more than 64 MiB/)])
  }
  expect(existsSync(path)).toBe(false)
  spawnSync('sh', ['-c', 'echo all | "$0" "$1" publish - "$2"', process.execPath, MAIN, path])
  expect(readFileSync(path, 'utf8')).toBe('all\n')
})
