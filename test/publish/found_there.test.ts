// Entries that publishDirectory() finds in its directory: left by a killed call, damaged, or in the way.
import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { publishDirectory } from '../../src/index.ts'
import { CallError } from '../../src/mounts/syscalls/call_error.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { scratch } from '../support/scratch.ts'
import { data, published, read, VERSION } from './published.ts'
import { watched } from './watched.ts'

describe('what a killed call has left', () => {
  test('is removed, also where nothing else is to be done; and what is not ours is not', async () => {
    const directory = await published({ a: '1' })
    for (const name of ['..2020_01_01_00_00_00.123', '..mine', 'plain']) mkdirSync(join(directory, name))
    writeFileSync(join(directory, '..2020_01_01_00_00_00.123/a'), 'half')
    writeFileSync(join(directory, '..2021_01_01_00_00_00.123'), 'a file')
    symlinkSync('..2020_01_01_00_00_00.123', join(directory, '..data_tmp'))
    symlinkSync('..data/b', join(directory, '..link_tmp'))
    symlinkSync('elsewhere', join(directory, 'link'))
    expect(await publishDirectory(directory, { a: '1' })).toEqual({ changed: false })
    const kept = ['..2021_01_01_00_00_00.123', '..mine', 'plain', 'link', '..data', data(directory), 'a']
    expect(readdirSync(directory).sort()).toEqual(kept.sort())
  })

  test('links that are missing are made, and stale ones removed', async () => {
    const directory = await published({ a: '1', b: '1' })
    unlinkSync(join(directory, 'a'))
    symlinkSync('..data/gone', join(directory, 'gone'))
    expect(await publishDirectory(directory, { a: '1', b: '1' })).toEqual({ changed: true })
    expect(readdirSync(directory).sort()).toEqual(['..data', data(directory), 'a', 'b'].sort())
    expect(read(directory, 'a')).toBe('1')
  })

  test.each([
    ['a file more', (version: string) => writeFileSync(join(version, 'more'), '')],
    ['a file less', (version: string) => unlinkSync(join(version, 'a'))],
    ['other content of the same size', (version: string) => writeFileSync(join(version, 'a'), '2')],
    ['a longer file', (version: string) => writeFileSync(join(version, 'a'), '11')],
    ['gone', (version: string) => rmSync(version, { recursive: true })],
  ])('a version that is not what it should be is written anew: %s', async (_, damage) => {
    const directory = await published({ a: '1', b: '1' })
    const before = data(directory)
    damage(join(directory, before))
    expect(await publishDirectory(directory, { a: '1', b: '1' })).toEqual({ changed: true })
    expect(readdirSync(directory).sort()).toEqual(['..data', data(directory), 'a', 'b'].sort())
    expect([read(directory, 'a'), data(directory) === before]).toEqual(['1', false])
  })
})

describe('what is in the way', () => {
  test('a file or a link of a key is replaced; at every moment there is one', async () => {
    const directory = scratch()
    writeFileSync(join(directory, 'file'), 'old')
    symlinkSync('file', join(directory, 'link'))
    const { events } = watched(directory)
    await publishDirectory(directory, { file: 'new', link: 'new' })
    expect((await events()).slice(5)).toEqual(
      ['file', 'link'].flatMap((name) => [
        'IN_CREATE ..link_tmp',
        'IN_MOVED_FROM ..link_tmp',
        `IN_MOVED_TO ${name}`,
      ]),
    )
    expect([read(directory, 'file'), read(directory, 'link')]).toEqual(['new', 'new'])
  })

  test('a directory is not, and nothing has happened', async () => {
    const directory = scratch()
    mkdirSync(join(directory, 'a'))
    const path = join(directory, 'a')
    await expect(publishDirectory(directory, { a: '1' })).rejects.toMatchObject({ code: 'EISDIR', path })
    expect(readdirSync(directory)).toEqual(['a'])
  })

  test('nor a ..data that is no symlink', async () => {
    const directory = scratch()
    mkdirSync(join(directory, '..data'))
    await expect(publishDirectory(directory, { a: '1' })).rejects.toMatchObject({ code: 'EEXIST' })
    expect(readdirSync(directory)).toEqual(['..data'])
  })

  test('a ..data that leads elsewhere is replaced, and what it led to stays', async () => {
    const [directory, elsewhere] = [scratch(), scratch()]
    writeFileSync(join(elsewhere, 'a'), '1')
    symlinkSync(elsewhere, join(directory, '..data'))
    expect(await publishDirectory(directory, { a: '1' })).toEqual({ changed: true })
    expect(data(directory)).toMatch(VERSION)
    expect(read(elsewhere, 'a')).toBe('1')
  })
})

test('a name that is no UTF-8, or gone as it is looked at, is no reason to fail', async () => {
  const directory = await published({ a: '1' })
  writeFileSync(Buffer.from(`${directory}/\xff`, 'latin1'), '')
  const names = SyscallThread.prototype.names
  vi.spyOn(SyscallThread.prototype, 'names').mockImplementation(async function (
    this: SyscallThread,
    fd,
    most,
  ) {
    // Only the listing of the directory itself asks for so many.
    const gone = most > 65_536 ? ['gone', '..2026_01_01_00_00_00.123'] : []
    return [...(await names.call(this, fd, most)), ...gone.map((name) => Buffer.from(name))]
  })
  onTestFinished(() => void vi.restoreAllMocks())
  await publishDirectory(directory, { a: '2' })
  expect(read(directory, 'a')).toBe('2')
})

test('a link that could not be put in the place of a file leaves nothing else', async () => {
  const directory = scratch()
  writeFileSync(join(directory, 'a'), 'old')
  const rename = SyscallThread.prototype.rename
  vi.spyOn(SyscallThread.prototype, 'rename').mockImplementation(async function (
    this: SyscallThread,
    from,
    to,
  ) {
    if (from.name === '..link_tmp') throw new CallError(constants.errno.EIO, 'rename')
    await rename.call(this, from, to)
  })
  onTestFinished(() => void vi.restoreAllMocks())
  await expect(publishDirectory(directory, { a: '1' })).rejects.toMatchObject({ code: 'EIO' })
  expect(readdirSync(directory).sort()).toEqual(['..data', data(directory), 'a'].sort())
})

test('of a directory that somebody has filled it is said that it is too large', async () => {
  const directory = scratch()
  const many = Array.from({ length: 65_537 }, (_, n) => Buffer.from(`${n}`))
  vi.spyOn(SyscallThread.prototype, 'names').mockImplementation(async (_fd, most) => many.slice(0, most))
  onTestFinished(() => void vi.restoreAllMocks())
  const refused = publishDirectory(directory, { a: '1' })
  await expect(refused).rejects.toMatchObject({ code: 'EFBIG', path: directory })
  await expect(refused).rejects.toThrow(/more than 65536 entries/)
})

test('a mode that forbids it to be read is no reason to write for ever', async ({ skip }) => {
  if (process.getuid?.() !== 0) skip('needs root, who may read it')
  const directory = await published({ a: '1' })
  chmodSync(join(directory, 'a'), 0)
  expect(await publishDirectory(directory, { a: '1' })).toEqual({ changed: false })
})

test.each([
  ['./', ''],
  ['', '/'],
  ['absolute', ''],
])(
  'a ..data that names its version by a detour (%s%s) is not taken for a leftover',
  async (before, after) => {
    const directory = await published({ key: 'old' })
    const version = data(directory)
    unlinkSync(join(directory, '..data'))
    symlinkSync(
      `${before === 'absolute' ? `${directory}/` : before}${version}${after}`,
      join(directory, '..data'),
    )
    const write = vi
      .spyOn(SyscallThread.prototype, 'write')
      .mockRejectedValue(new CallError(constants.errno.ENOSPC, 'write'))
    onTestFinished(() => write.mockRestore())
    await expect(publishDirectory(directory, { key: 'new' })).rejects.toMatchObject({ code: 'ENOSPC' })
    expect(read(directory, 'key')).toBe('old')
    write.mockRestore()
    await publishDirectory(directory, { key: 'new' })
    expect(read(directory, 'key')).toBe('new')
    expect(readdirSync(directory).filter((name) => VERSION.test(name))).toHaveLength(1)
  },
)
