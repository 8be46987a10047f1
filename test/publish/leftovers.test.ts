import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { replaceFile } from '../../src/index.ts'
import { CallError } from '../../src/mounts/call_error.ts'
import { Calls } from '../../src/mounts/calls.ts'
import { HeldDirectory } from '../../src/mounts/held.ts'
import { withTemporary } from '../../src/publish/temporary.ts'
import { scratch } from '../support/scratch.ts'

const LEFT = '.inotify-bridge.tmp-0123456789ab'

async function held(path: string): Promise<HeldDirectory> {
  const calls = new Calls()
  onTestFinished(() => calls.end())
  return await HeldDirectory.open(calls, path)
}

test('what was left is removed; what only looks like it is not', async () => {
  const directory = scratch()
  const others = ['.inotify-bridge.tmp-', '.inotify-bridge.tmp-0123456789abc', '.inotify-bridge-0123456789ab']
  for (const name of [LEFT, ...others]) writeFileSync(join(directory, name), 'x')
  symlinkSync('nowhere', join(directory, `${LEFT}.link`))
  symlinkSync('nowhere', join(directory, '.inotify-bridge.tmp-ffffffffffff.link'))
  mkdirSync(join(directory, '.inotify-bridge.tmp-aaaaaaaaaaaa'))
  await replaceFile(join(directory, 'file'), '')
  const expected = ['.inotify-bridge.tmp-aaaaaaaaaaaa', 'file', ...others]
  expect(readdirSync(directory).sort()).toEqual(expected.sort())
})

test("a live writer's is not removed, however old it looks, nor the link beside it", async () => {
  const directory = scratch()
  await withTemporary(await held(directory), async (temporary) => {
    const link = await temporary.makeLink(Buffer.from('nowhere'))
    utimesSync(join(directory, temporary.name), 1, 1)
    await replaceFile(join(directory, 'file'), '')
    expect(readdirSync(directory).sort()).toEqual(['file', link, temporary.name].sort())
  })
  expect(readdirSync(directory)).toEqual(['file'])
})

test('without locks the age decides, by the clock of the file system', async () => {
  const directory = scratch()
  writeFileSync(join(directory, LEFT), 'x')
  vi.spyOn(Calls.prototype, 'lock').mockRejectedValue(new CallError(37, 'flock'))
  onTestFinished(() => void vi.restoreAllMocks())
  await replaceFile(join(directory, 'file'), '')
  expect(readdirSync(directory)).toEqual([LEFT, 'file'])
  const stat = Calls.prototype.stat
  vi.spyOn(Calls.prototype, 'stat').mockImplementation(async function (this: Calls, at) {
    const found = await stat.call(this, at)
    const ctimeNs = found.ctimeNs - 601n * 1_000_000_000n
    return at.name === LEFT ? Object.assign(Object.create(found), { ctimeNs, isFile: () => true }) : found
  })
  await replaceFile(join(directory, 'file'), '')
  expect(readdirSync(directory)).toEqual(['file'])
})

test('where other kernels write as well, a lock that is free says nothing', async () => {
  const directory = scratch()
  writeFileSync(join(directory, LEFT), 'x')
  vi.spyOn(Calls.prototype, 'fileSystem').mockResolvedValue(0x65735546)
  onTestFinished(() => void vi.restoreAllMocks())
  await replaceFile(join(directory, 'file'), '')
  expect(readdirSync(directory)).toEqual([LEFT, 'file'])
})

test('a temporary file that somebody removes is made again', async () => {
  const directory = scratch()
  const rename = Calls.prototype.rename
  let removed = 0
  vi.spyOn(Calls.prototype, 'rename').mockImplementation(async function (this: Calls, from, to, flags) {
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
  vi.spyOn(Calls.prototype, 'rename').mockImplementation(async () => {
    throw new CallError(2, 'rename')
  })
  onTestFinished(() => void vi.restoreAllMocks())
  await expect(replaceFile(join(directory, 'file'), '')).rejects.toMatchObject({ code: 'ENOENT' })
  expect(readdirSync(directory)).toEqual([])
})
