import {
  chmodSync,
  chownSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { replaceFile } from '../../src/index.ts'
import { CallError } from '../../src/mounts/syscalls/call_error.ts'
import { DirectoryHandle } from '../../src/mounts/syscalls/directory_handle.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { withTemporary } from '../../src/publish/draft/temporary.ts'
import { locksAsOnNfs } from '../support/nfs_locks.ts'
import { giveAway, isRoot } from '../support/others.ts'
import { scratch } from '../support/scratch.ts'

const LEFT = '.inotify-bridge.tmp-0123456789ab'

async function held(path: string): Promise<DirectoryHandle> {
  const calls = new SyscallThread()
  onTestFinished(() => calls.end())
  return await DirectoryHandle.open(calls, path)
}

/** To whoever opens them, files of these names have not been changed for ten minutes. */
function changedLongAgo(...names: string[]): void {
  const open = SyscallThread.prototype.openBeneath
  vi.spyOn(SyscallThread.prototype, 'openBeneath').mockImplementation(async function (
    this: SyscallThread,
    at,
    flags,
  ) {
    const { fd, stat } = await open.call(this, at, flags)
    const ctimeNs = stat.ctimeNs - 601n * 1_000_000_000n
    const isOld = names.includes(String(at.name))
    return { fd, stat: Object.defineProperty(stat, 'ctimeNs', { value: isOld ? ctimeNs : stat.ctimeNs }) }
  })
}

/** As a killed moveFile() leaves it. */
function withLink(directory: string): void {
  writeFileSync(join(directory, LEFT), '')
  symlinkSync('nowhere', join(directory, `${LEFT}.link`))
}

// See wasRemoved() in src/volume/data_link.ts.
test('one file is made where the file system counts no links', async () => {
  const directory = scratch()
  const { create, stat } = SyscallThread.prototype
  const withoutLinks = <T extends object>(of: T) => Object.defineProperty(of, 'nlink', { value: 0n })
  const made = vi.spyOn(SyscallThread.prototype, 'create').mockImplementation(async function (
    this: SyscallThread,
    ...asked
  ) {
    const opened = await create.apply(this, asked)
    return { ...opened, stat: withoutLinks(opened.stat) }
  })
  vi.spyOn(SyscallThread.prototype, 'stat').mockImplementation(async function (this: SyscallThread, at) {
    return withoutLinks(await stat.call(this, at))
  })
  await replaceFile(join(directory, 'a'), 'new')
  expect(made).toHaveBeenCalledOnce()
  expect(readdirSync(directory)).toEqual(['a'])
})

test('what was left is removed; what only looks like it is not', async () => {
  const directory = scratch()
  const others = ['.inotify-bridge.tmp-', '.inotify-bridge.tmp-0123456789abc', '.inotify-bridge-0123456789ab']
  for (const name of others) writeFileSync(join(directory, name), 'x')
  withLink(directory)
  // Entries that no publisher makes: a directory, a symlink, a file with another name, one beside which there is a file.
  const [below, link] = ['.inotify-bridge.tmp-dddddddddddd', '.inotify-bridge.tmp-eeeeeeeeeeee']
  mkdirSync(join(directory, below), 0o700)
  symlinkSync('nowhere', join(directory, link))
  const linked = '.inotify-bridge.tmp-ffffffffffff'
  writeFileSync(join(directory, 'other'), 'x')
  linkSync(join(directory, 'other'), join(directory, linked))
  const beside = ['.inotify-bridge.tmp-aaaaaaaaaaaa', '.inotify-bridge.tmp-aaaaaaaaaaaa.link']
  for (const name of beside) writeFileSync(join(directory, name), 'x')
  await replaceFile(join(directory, 'file'), '')
  const expected = [below, link, linked, ...beside, 'other', 'file', ...others]
  expect(readdirSync(directory).sort()).toEqual(expected.sort())
})

test("a live writer's is not removed, however old it looks, nor the symlink beside it", async () => {
  const directory = scratch()
  const [one, other] = [await held(directory), await held(directory)]
  await withTemporary(one, undefined, (temporary) =>
    withTemporary(other, undefined, async (another) => {
      await using _ = await another.makeLink(Buffer.from('nowhere'))
      utimesSync(join(directory, temporary.name), 1, 1)
      await replaceFile(join(directory, 'file'), '')
      const expected = ['file', another.name, `${another.name}.link`, temporary.name]
      expect(readdirSync(directory).sort()).toEqual(expected.sort())
    }),
  )
  expect(readdirSync(directory)).toEqual(['file'])
})

test('a symlink that is made is told from one that was there before, where others may rename', async () => {
  const directory = scratch()
  chmodSync(directory, 0o777)
  const text = Buffer.from('nowhere')
  symlinkSync(text, join(directory, 'before'))
  // A birth time is by a clock that may tick every 10 ms.
  const bornAt = (name: string) => lstatSync(join(directory, name), { bigint: true }).birthtimeNs
  await vi.waitFor(() => {
    writeFileSync(join(directory, 'probe'), '')
    const isLater = bornAt('probe') > bornAt('before')
    rmSync(join(directory, 'probe'))
    expect(isLater).toBe(true)
  }, 60_000)
  await withTemporary(await held(directory), undefined, async (temporary) => {
    await using made = await temporary.makeLink(text)
    expect(await temporary.isOurs(made, text)).toBe(true)
    expect(await temporary.isOurs(made, Buffer.from('elsewhere'))).toBe(false)
    renameSync(join(directory, 'before'), join(directory, `${temporary.name}.link`))
    await using exchanged = await (await held(directory)).hold(`${temporary.name}.link`)
    expect(await temporary.isOurs(exchanged, text)).toBe(false)
  })
  expect(readdirSync(directory)).toEqual([])
})

describe.skipIf(!isRoot)('of others (needs root)', () => {
  test('nothing is removed', async () => {
    const directory = scratch()
    withLink(directory)
    giveAway(join(directory, LEFT))
    await replaceFile(join(directory, 'file'), '')
    expect(readdirSync(directory).sort()).toEqual([LEFT, `${LEFT}.link`, 'file'])
  })

  test('but what had its new owner already when its writer was killed', async () => {
    const directory = scratch()
    withLink(directory)
    writeFileSync(join(directory, 'file'), 'old')
    lchownSync(join(directory, `${LEFT}.link`), 1234, 5678)
    await replaceFile(join(directory, 'file'), '')
    expect(readdirSync(directory).sort()).toEqual([LEFT, `${LEFT}.link`, 'file'])
    for (const name of [LEFT, 'file']) chownSync(join(directory, name), 1234, 5678)
    await replaceFile(join(directory, 'file'), '')
    expect(readdirSync(directory)).toEqual(['file'])
  })
})

test('of a directory that somebody has filled 65,536 names are looked at', async () => {
  const directory = scratch()
  const names = vi.spyOn(SyscallThread.prototype, 'names')
  onTestFinished(() => void vi.restoreAllMocks())
  await replaceFile(join(directory, 'file'), '')
  expect(names.mock.calls.map(([, most]) => most)).toEqual([65_536])
})

test('without locks the age decides, by the clock of the file system', async () => {
  const directory = scratch()
  writeFileSync(join(directory, LEFT), 'x')
  vi.spyOn(SyscallThread.prototype, 'lock').mockRejectedValue(new CallError(37, 'flock'))
  onTestFinished(() => void vi.restoreAllMocks())
  await replaceFile(join(directory, 'file'), '')
  expect(readdirSync(directory)).toEqual([LEFT, 'file'])
  changedLongAgo(LEFT)
  await replaceFile(join(directory, 'file'), '')
  expect(readdirSync(directory)).toEqual(['file'])
})

test("on NFS, which has no lock of a file that is open to be read, a live writer's is not removed either", async () => {
  const directory = scratch()
  locksAsOnNfs()
  vi.spyOn(SyscallThread.prototype, 'fileSystem').mockResolvedValue(0x6969)
  onTestFinished(() => void vi.restoreAllMocks())
  await withTemporary(await held(directory), undefined, async ({ name }) => {
    changedLongAgo(name, LEFT)
    // Its writer was killed.
    writeFileSync(join(directory, LEFT), 'x', { mode: 0o400 })
    await replaceFile(join(directory, 'file'), '')
    expect(readdirSync(directory).sort()).toEqual(['file', name].sort())
  })
})

test('where other kernels write as well, a lock that is free says nothing', async () => {
  const directory = scratch()
  writeFileSync(join(directory, LEFT), 'x')
  vi.spyOn(SyscallThread.prototype, 'fileSystem').mockResolvedValue(0x65735546)
  onTestFinished(() => void vi.restoreAllMocks())
  await replaceFile(join(directory, 'file'), '')
  expect(readdirSync(directory)).toEqual([LEFT, 'file'])
})

test('a temporary file that somebody removes is made again', async () => {
  const directory = scratch()
  const rename = SyscallThread.prototype.rename
  let removed = 0
  vi.spyOn(SyscallThread.prototype, 'rename').mockImplementation(async function (
    this: SyscallThread,
    from,
    to,
    flags,
  ) {
    if (removed++ < 3) rmSync(join(directory, String(from.name)))
    await rename.call(this, from, to, flags)
  })
  onTestFinished(() => void vi.restoreAllMocks())
  await replaceFile(join(directory, 'file'), 'content')
  expect(removed).toBe(4)
  expect(readFileSync(join(directory, 'file'), 'utf8')).toBe('content')
  expect(readdirSync(directory)).toEqual(['file'])
})

test('a directory that has gone is not tried for ever', async () => {
  const directory = scratch()
  vi.spyOn(SyscallThread.prototype, 'rename').mockImplementation(async () => {
    throw new CallError(2, 'rename')
  })
  onTestFinished(() => void vi.restoreAllMocks())
  await expect(replaceFile(join(directory, 'file'), '')).rejects.toMatchObject({ code: 'ENOENT' })
  expect(readdirSync(directory)).toEqual([])
})
