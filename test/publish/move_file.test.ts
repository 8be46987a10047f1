import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
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
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { moveFile } from '../../src/index.ts'
import { CallError } from '../../src/mounts/syscalls/call_error.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { enterNamespace, mayUnshare } from '../mounts/namespace.ts'
import { isRoot } from '../support/others.ts'
import { scratch } from '../support/scratch.ts'
import { STRANGE_NAMES, watched } from './watched.ts'

const hasTwoMounts = existsSync('/dev/shm') && statSync('/dev/shm').dev !== statSync('/tmp').dev
const read = (path: string) => readFileSync(path, 'utf8')

/** A source that has content, and a destination, on two mounts or on one. */
function places(crossedMounts: boolean, content = 'content') {
  const [home, elsewhere] = [scratch('/tmp'), scratch(crossedMounts ? '/dev/shm' : '/tmp')]
  const [from, to] = [join(elsewhere, 'from'), join(home, 'to')]
  writeFileSync(from, content)
  return { from, to, home, elsewhere }
}

describe.each([
  ['on one mount', false],
  ['across mounts', true],
])('%s', (_, crossedMounts) => {
  const on = crossedMounts ? test.skipIf(!hasTwoMounts) : test

  on('a watcher of the destination sees one IN_MOVED_TO and nothing else of its name', async () => {
    const { from, to, home, elsewhere } = places(crossedMounts, 'x'.repeat(3_000_000))
    const { eventsOf } = watched(home, true)
    const source = watched(elsewhere)
    expect(await moveFile(from, to)).toEqual({ crossedMounts })
    expect(await eventsOf('to')).toEqual(['IN_MOVED_TO to'])
    expect(await source.events()).toEqual([crossedMounts ? 'IN_DELETE from' : 'IN_MOVED_FROM from'])
    expect(read(to)).toBe('x'.repeat(3_000_000))
    expect([readdirSync(elsewhere), readdirSync(home)]).toEqual([['mark-'], ['mark-', 'to']].map(names))
  })

  on(
    'mode and times are kept, set-id bits by rename(2) alone; what is there is replaced, its owner and mode with it',
    async () => {
      const { from, to } = places(crossedMounts)
      writeFileSync(to, 'old')
      if (isRoot) chownSync(from, 1234, 5678)
      chmodSync(from, 0o6751)
      utimesSync(from, 1_000_000_001.5, 1_100_000_002.25)
      await moveFile(from, to)
      const { mode, atimeMs, mtimeMs, uid, gid } = statSync(to)
      expect([mode & 0o7777, atimeMs, mtimeMs]).toEqual([
        crossedMounts ? 0o751 : 0o6751,
        1_000_000_001_500,
        1_100_000_002_250,
      ])
      if (isRoot) expect([uid, gid]).toEqual([1234, 5678])
      expect(read(to)).toBe('content')
    },
  )

  on('a symlink is moved itself, whatever its bytes; one at the destination is replaced', async () => {
    const { from, to, home } = places(crossedMounts)
    rmSync(from)
    symlinkSync(Buffer.from('nowhere\xff', 'latin1'), from)
    if (isRoot) spawnSync('chown', ['-h', '1234', from])
    writeFileSync(join(home, 'kept'), 'kept')
    symlinkSync('kept', to)
    const { eventsOf } = watched(home)
    expect(await moveFile(from, to)).toEqual({ crossedMounts })
    expect(readlinkSync(to, 'buffer').toString('latin1')).toBe('nowhere\xff')
    if (isRoot) expect(lstatSync(to).uid).toBe(1234)
    expect(await eventsOf('to')).toEqual(['IN_MOVED_TO to'])
    expect(existsSync(from)).toBe(false)
    expect(read(join(home, 'kept'))).toBe('kept')
    expect(readdirSync(home).filter((name) => name.startsWith('.'))).toEqual([])
  })

  on('directories and what is no file are refused, and so is nothing', async () => {
    const { from, to, home, elsewhere } = places(crossedMounts)
    mkdirSync(join(home, 'sub'))
    mkdirSync(join(elsewhere, 'sub'))
    spawnSync('mkfifo', [join(elsewhere, 'fifo')])
    await expect(moveFile(join(elsewhere, 'sub'), to)).rejects.toMatchObject({ code: 'EISDIR' })
    await expect(moveFile(from, join(home, 'sub'))).rejects.toMatchObject({
      code: 'EISDIR',
      path: join(home, 'sub'),
    })
    await expect(moveFile(from, `${home}/`)).rejects.toMatchObject({ code: 'EISDIR' })
    await expect(moveFile(join(elsewhere, 'fifo'), to)).rejects.toMatchObject({ code: 'EINVAL' })
    const missing = join(elsewhere, 'missing')
    await expect(moveFile(missing, to)).rejects.toMatchObject({ code: 'ENOENT', path: missing })
    await expect(moveFile(from, join(home, 'no/to'))).rejects.toMatchObject({
      code: 'ENOENT',
      path: join(home, 'no/to'),
    })
    expect(read(from)).toBe('content')
    expect(readdirSync(home)).toEqual(['sub'])
  })

  on.each(STRANGE_NAMES)('a name is a name: %j', async (name) => {
    const { from, home, elsewhere } = places(crossedMounts)
    await moveFile(from, join(home, name))
    await moveFile(join(home, name), join(elsewhere, name))
    expect([readdirSync(home), readdirSync(elsewhere)]).toEqual([[], [name]])
    expect(read(join(elsewhere, name))).toBe('content')
  })
})

/** The marks that `watched` makes have a number. */
function names(expected: string[]): unknown {
  return expected.map((name) => (name === 'mark-' ? expect.stringMatching(/^mark-/) : name))
}

test('onto itself, over a symlink to its directory too: nothing happens', async () => {
  const { to: path, home } = places(false)
  writeFileSync(path, 'content')
  const alias = join(scratch(), 'alias')
  symlinkSync(home, alias)
  for (const other of [path, join(alias, 'to'), `${home}/../${home.split('/').pop()}/to`])
    expect(await moveFile(path, other)).toEqual({ crossedMounts: false })
  expect(read(path)).toBe('content')
})

test('onto another hard link of the same file: the source goes, as mv(1) has it', async () => {
  const { from, to, elsewhere } = places(false)
  linkSync(from, to)
  expect(await moveFile(from, to)).toEqual({ crossedMounts: false })
  expect(readdirSync(elsewhere)).toEqual([])
  expect(read(to)).toBe('content')
})

describe.skipIf(!mayUnshare)('in a mount namespace (needs unshare -rm)', () => {
  test('two binds of one file system, and two tmpfs, are two mounts', async () => {
    using namespace = await enterNamespace(`
      mkdir real real/a real/b one two three; mount --bind real one; mount --bind real two; mount -t tmpfs none three`)
    const at = (name: string) => join(namespace.reach(namespace.directory), name)
    for (const [from, to] of [
      ['one/a', 'two/b'],
      ['three', 'two/a'],
    ] as const) {
      writeFileSync(at(`${from}/from`), 'content')
      const { eventsOf } = watched(at(to), true)
      expect(await moveFile(at(`${from}/from`), at(`${to}/to`))).toEqual({ crossedMounts: true })
      expect(await eventsOf('to')).toEqual(['IN_MOVED_TO to'])
      expect(read(at(`${to}/to`))).toBe('content')
      expect(existsSync(at(`${from}/from`))).toBe(false)
    }
  })

  test('one file seen over two binds is not moved onto itself; another link of it goes', async () => {
    using namespace = await enterNamespace('mkdir real one two; mount --bind real one; mount --bind real two')
    const at = (name: string) => join(namespace.reach(namespace.directory), name)
    writeFileSync(at('one/file'), 'content')
    expect(await moveFile(at('one/file'), at('two/file'))).toEqual({ crossedMounts: false })
    expect(read(at('two/file'))).toBe('content')
    linkSync(at('one/file'), at('one/link'))
    expect(await moveFile(at('one/link'), at('two/file'))).toEqual({ crossedMounts: false })
    expect(readdirSync(at('real'))).toEqual(['file'])
  })

  test('a full destination keeps what it has; of a read-only source nothing is published', async () => {
    using namespace = await enterNamespace(`
      mkdir full readonly; mount -t tmpfs -o size=64k none full; echo old >full/to; mount -t tmpfs none readonly
      head -c 100000 /dev/zero >from; echo new >readonly/from; mount -o remount,ro readonly`)
    const at = (name: string) => join(namespace.reach(namespace.directory), name)
    const [full, readonly] = [at('full/to'), at('readonly/from')]
    await expect(moveFile(at('from'), full)).rejects.toMatchObject({ code: 'ENOSPC', path: full })
    await expect(moveFile(readonly, full)).rejects.toMatchObject({ code: 'EROFS', path: readonly })
    expect(read(full)).toBe('old\n')
    expect(readdirSync(at('full'))).toEqual(['to'])
    expect(statSync(at('from')).size).toBe(100_000)
  })

  test('a single file that is mounted is neither moved nor replaced', async () => {
    using namespace = await enterNamespace('echo 1 >one; echo 2 >two; echo 3 >three; mount --bind one two')
    const at = (name: string) => join(namespace.reach(namespace.directory), name)
    const mounted = at('two')
    await expect(moveFile(at('three'), mounted)).rejects.toMatchObject({ code: 'EBUSY', path: mounted })
    await expect(moveFile(mounted, at('four'))).rejects.toMatchObject({ code: 'EBUSY', path: mounted })
    expect([read(at('three')), read(mounted)]).toEqual(['3\n', '1\n'])
  })
})

test.skipIf(!hasTwoMounts)('the source is there until the destination is, on the disk', async () => {
  const { from, to } = places(true)
  const order: string[] = []
  for (const name of ['sync', 'rename', 'unlink'] as const) {
    const original = SyscallThread.prototype[name] as (...args: unknown[]) => Promise<void>
    vi.spyOn(SyscallThread.prototype, name).mockImplementation(async function (
      this: SyscallThread,
      ...args: unknown[]
    ) {
      order.push(`${name} ${existsSync(from) ? 'from' : ''} ${existsSync(to) ? 'to' : ''}`)
      return await original.apply(this, args)
    })
  }
  onTestFinished(() => void vi.restoreAllMocks())
  await moveFile(from, to)
  // rename(2) within the mount is tried first, and unlink(2) asked for as rmdir(2).
  expect(order.slice(-5)).toEqual([
    'sync from ',
    'rename from ',
    'sync from to',
    'unlink from to',
    'sync  to',
  ])
})

describe.skipIf(!hasTwoMounts)('a source that does not hold still', () => {
  /** Runs between the reading of the source and what comes after it. */
  function afterReading(change: () => void): void {
    const copyTimes = SyscallThread.prototype.copyTimes
    vi.spyOn(SyscallThread.prototype, 'copyTimes').mockImplementation(async function (
      this: SyscallThread,
      ...args
    ) {
      if (args[2] === true) change()
      await copyTimes.apply(this, args)
    })
    onTestFinished(() => void vi.restoreAllMocks())
  }

  test('is copied again: what arrives is one version', async () => {
    const { from, to, home } = places(true)
    const { eventsOf } = watched(home)
    let changes = 0
    afterReading(() => {
      if (changes++ < 2) appendFileSync(from, ' more')
    })
    await moveFile(from, to)
    expect(read(to)).toBe('content more more')
    expect(await eventsOf('to')).toEqual(['IN_MOVED_TO to'])
    expect(existsSync(from)).toBe(false)
  })

  test('growing as fast as it is read: no more is copied than it had', async () => {
    const { from, to, home } = places(true)
    const read = SyscallThread.prototype.read
    let written = 0
    vi.spyOn(SyscallThread.prototype, 'read').mockImplementation(async function (
      this: SyscallThread,
      ...args
    ) {
      const chunk = await read.apply(this, args)
      appendFileSync(from, 'more')
      return chunk
    })
    const write = SyscallThread.prototype.write
    vi.spyOn(SyscallThread.prototype, 'write').mockImplementation(async function (
      this: SyscallThread,
      fd,
      bytes,
    ) {
      written += bytes.length
      await write.call(this, fd, bytes)
    })
    onTestFinished(() => void vi.restoreAllMocks())
    await expect(moveFile(from, to)).rejects.toMatchObject({ code: 'EBUSY', path: from })
    expect(written).toBeLessThan(5 * 50)
    expect(readdirSync(home)).toEqual([])
  })

  test('for ever: EBUSY, and nothing has happened', async () => {
    const { from, to, home } = places(true)
    afterReading(() => appendFileSync(from, '!'))
    await expect(moveFile(from, to)).rejects.toMatchObject({ code: 'EBUSY', path: from })
    expect(readdirSync(home)).toEqual([])
    expect(read(from)).toBe('content!!!!!')
  })

  test.each([
    ['written to', (from: string) => appendFileSync(from, ' more')],
    [
      'replaced',
      (from: string) => {
        rmSync(from)
        writeFileSync(from, 'content more')
      },
    ],
    ['made another by its mode alone', (from: string) => chmodSync(from, 0o600)],
  ])('after it has been published, %s: it stays, and the error says so', async (_, change) => {
    const { from, to } = places(true)
    const rename = SyscallThread.prototype.rename
    vi.spyOn(SyscallThread.prototype, 'rename').mockImplementation(async function (
      this: SyscallThread,
      ...args
    ) {
      await rename.apply(this, args)
      change(from)
    })
    onTestFinished(() => void vi.restoreAllMocks())
    await expect(moveFile(from, to)).rejects.toMatchObject({ code: 'EBUSY', syscall: 'unlink', path: from })
    expect(read(to)).toBe('content')
    expect(read(from)).toMatch(/^content/)
  })

  test('removed by another after it has been published: it is moved', async () => {
    const { from, to } = places(true)
    const rename = SyscallThread.prototype.rename
    vi.spyOn(SyscallThread.prototype, 'rename').mockImplementation(async function (
      this: SyscallThread,
      ...args
    ) {
      await rename.apply(this, args)
      rmSync(from)
    })
    onTestFinished(() => void vi.restoreAllMocks())
    expect(await moveFile(from, to)).toEqual({ crossedMounts: true })
  })
})

test.skipIf(!isRoot || !hasTwoMounts)(
  'an owner that cannot be kept: nothing has happened (needs root)',
  async () => {
    const { from, to, home } = places(true)
    chownSync(from, 4321, 0)
    vi.spyOn(SyscallThread.prototype, 'chown').mockRejectedValue(new CallError(1, 'chown'))
    onTestFinished(() => void vi.restoreAllMocks())
    await expect(moveFile(from, to)).rejects.toMatchObject({ code: 'EPERM', syscall: 'chown', path: to })
    expect(readdirSync(home)).toEqual([])
    expect(read(from)).toBe('content')
  },
)

test('wrong arguments', async () => {
  const call: (...args: unknown[]) => Promise<unknown> = moveFile as never
  for (const args of [[], ['a'], ['', 'b'], ['a', 1], ['a', 'b\0c']])
    await expect(call(...args)).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_VALUE' })
})
