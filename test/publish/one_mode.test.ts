// A mount that has one mode and one owner for everything, as cifs and vfat have: where others may rename, no version can be marked there.
import { spawnSync } from 'node:child_process'
import { chmodSync, readdirSync } from 'node:fs'
import { constants } from 'node:os'
import { expect, onTestFinished, test, vi } from 'vitest'
import { publishDirectory } from '../../src/index.ts'
import { CallError } from '../../src/mounts/syscalls/call_error.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { MAIN } from '../cli/command.ts'
import { scratch } from '../support/scratch.ts'
import { data } from './published.ts'

/** The mount goes with the namespace, and its server with it. */
const SCRIPT = `mkdir src mnt
bindfs $1 src mnt
for content in one two; do
  echo $content >key
  "$2" "$3" publish --configmap key mnt || true
done
LC_ALL=C ls -A mnt
cat mnt/key || true`

const mayMount =
  process.getuid?.() === 0 &&
  spawnSync('bindfs', ['--version']).status === 0 &&
  spawnSync('unshare', ['-m', 'sh', '-c', ': </dev/fuse']).status === 0

/** Publishes a key twice there. Returns the reports, and then the listing of the directory. */
function published(options: string): string[] {
  const args = ['-m', 'sh', '-ec', SCRIPT, 'sh', options, process.execPath, MAIN]
  const { stdout, stderr } = spawnSync('unshare', args, { cwd: scratch(), encoding: 'utf8', timeout: 30_000 })
  return `${stdout}${stderr}`
    .trim()
    .replace(/\.\.2[\d_.]+/g, 'VERSION')
    .split('\n')
}

test.skipIf(!mayMount).each(['-p 0700 -u 65534', '-p 0777'])(
  'bindfs %s: versions come and go (needs root and bindfs)',
  (options) => {
    const said = ['published mnt: key', 'published mnt: key']
    expect(published(`${options} --chmod-ignore`)).toEqual([...said, 'VERSION', '..data', 'key', 'two'])
  },
)

test.skipIf(!mayMount)(
  'where a mode cannot be set either it is EPERM, and nothing is left (needs root and bindfs)',
  () => {
    const said = published('-p 0777 --chmod-deny')
    expect(said.filter((line) => line.includes('EPERM'))).toHaveLength(2)
    expect(said).not.toContain('VERSION')
  },
)

test('on a mount that has one mode for all, as cifs has, versions come and go where others may rename too', async () => {
  const directory = scratch()
  chmodSync(directory, 0o777)
  const { mkdir, create } = SyscallThread.prototype
  vi.spyOn(SyscallThread.prototype, 'mkdir').mockImplementation(function (this: SyscallThread, at) {
    return mkdir.call(this, at, 0o700)
  })
  vi.spyOn(SyscallThread.prototype, 'create').mockImplementation(function (this: SyscallThread, at) {
    return create.call(this, at, 0o700)
  })
  const chmod = vi.spyOn(SyscallThread.prototype, 'chmod').mockResolvedValue()
  onTestFinished(() => void vi.restoreAllMocks())
  await publishDirectory(directory, { a: '1', 'b/c': '1' })
  await publishDirectory(directory, { a: '2', 'b/c': '2' })
  const expected = ['..data', data(directory), 'a', 'b'].sort()
  expect(readdirSync(directory).sort()).toEqual(expected)
  // vfat
  chmod.mockRejectedValue(new CallError(constants.errno.EPERM, 'chmod'))
  await expect(publishDirectory(directory, { a: '3' })).rejects.toMatchObject({ code: 'EPERM' })
  expect(readdirSync(directory).sort()).toEqual(expected)
})
