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

// Varied: where nothing comes from, and to whom it goes.
test.each([
  ['false | "$0" "$1" publish - dest', 'stdin'],
  ['true | "$0" "$1" publish --json --mode 600 - dest', 'stdin'],
  ['"$0" "$1" publish - dest <&-', 'stdin'],
  ['"$0" "$1" publish - dest </dev/null', 'stdin'],
  [': >empty; "$0" "$1" publish - dest <empty', 'stdin'],
  ["script -qec \"'$0' '$1' publish - dest\" /dev/null </dev/null", 'stdin'],
  ['mkfifo fifo; : >fifo & "$0" "$1" publish fifo dest', 'fifo'],
  ['mkdir dir; mkfifo fifo; : >fifo & "$0" "$1" publish --configmap fifo dir', 'fifo'],
])('an empty stream publishes nothing, and one line says so: %s', (script, name) => {
  const cwd = scratch()
  writeFileSync(join(cwd, 'dest'), 'old')
  const { status, stdout, stderr } = spawnSync('sh', ['-c', script, process.execPath, MAIN], {
    cwd,
    encoding: 'utf8',
    timeout: 60_000,
  })
  const said = `${name} is empty, and nothing was published: has the program failed that writes it? To publish an empty file, name one: /dev/null`
  const lines = `${stdout}${stderr}`.trim().split('\n')
  expect([status, lines]).toEqual([1, [expect.stringContaining(said)]])
  expect(readFileSync(join(cwd, 'dest'), 'utf8')).toBe('old')
  expect(existsSync(join(cwd, 'dir/..data'))).toBe(false)
})

test.each(['/dev/null', 'empty'])('an empty file is published by its name: %s', (file) => {
  const cwd = scratch()
  writeFileSync(join(cwd, 'empty'), '')
  writeFileSync(join(cwd, 'dest'), 'old')
  expect(spawnSync(process.execPath, [MAIN, 'publish', file, 'dest'], { cwd }).status).toBe(0)
  expect(readFileSync(join(cwd, 'dest'), 'utf8')).toBe('')
})
