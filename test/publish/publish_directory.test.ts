import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { constants } from 'node:os'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { publishDirectory } from '../../src/index.ts'
import { CallError } from '../../src/mounts/call_error.ts'
import { Calls } from '../../src/mounts/calls.ts'
import { enterNamespace, mayUnshare } from '../mounts/namespace.ts'
import { openDescriptors } from '../support/descriptors.ts'
import { scratch } from '../support/scratch.ts'
import { STRANGE_NAMES, watched } from './watched.ts'

const VERSION = /^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+$/
const data = (directory: string) => readlinkSync(join(directory, '..data'))
const read = (...path: string[]) => readFileSync(join(...path), 'utf8')

async function published(files: Record<string, string>) {
  const directory = scratch()
  await publishDirectory(directory, files)
  return directory
}

describe("what a watcher sees is what the kubelet's AtomicWriter makes it see", () => {
  const named = (lines: string[], names: Record<string, string>) =>
    lines.map((line) => Object.entries(names).reduce((text, [from, to]) => text.replace(from, to), line))

  test('the first time', async () => {
    const directory = scratch()
    const { events } = watched(directory)
    expect(await publishDirectory(directory, { a: '1', 'b/c': '2' })).toEqual({ changed: true })
    expect(named(await events(), { [data(directory)]: 'NEW' })).toEqual([
      'IN_CREATE|IN_ISDIR NEW',
      'IN_ATTRIB|IN_ISDIR NEW',
      'IN_CREATE ..data_tmp',
      'IN_MOVED_FROM ..data_tmp',
      'IN_MOVED_TO ..data',
      'IN_CREATE a',
      'IN_CREATE b',
    ])
  })

  test('an update of the same keys names none of them', async () => {
    const directory = await published({ a: '1', b: '1' })
    const old = data(directory)
    const { events } = watched(directory)
    expect(await publishDirectory(directory, { a: '2', b: '1' })).toEqual({ changed: true })
    expect(named(await events(), { [data(directory)]: 'NEW', [old]: 'OLD' })).toEqual([
      'IN_CREATE|IN_ISDIR NEW',
      'IN_ATTRIB|IN_ISDIR NEW',
      'IN_CREATE ..data_tmp',
      'IN_MOVED_FROM ..data_tmp',
      'IN_MOVED_TO ..data',
      'IN_DELETE|IN_ISDIR OLD',
    ])
  })

  test('a key comes, and another goes', async () => {
    const directory = await published({ a: '1', b: '1' })
    const { events } = watched(directory)
    await publishDirectory(directory, { b: '1', c: '1' })
    expect((await events()).slice(4, -1)).toEqual(['IN_MOVED_TO ..data', 'IN_CREATE c', 'IN_DELETE a'])
  })

  test('the same again: nothing is written', async () => {
    const directory = await published({ a: '1', 'b/c': '1' })
    const { events } = watched(directory)
    const inside = watched(join(directory, data(directory)))
    expect(await publishDirectory(directory, { 'b/c': '1', a: Buffer.from('1') })).toEqual({ changed: false })
    expect(await publishDirectory(directory, { 'b/c': '1', a: '1' }, { mode: 0o600 })).toEqual({
      changed: false,
    })
    expect(await inside.events()).toEqual([])
    rmSync(join(directory, data(directory)), { recursive: true })
    expect((await events()).slice(0, -1)).toEqual([])
  })
})

test('the layout is the one that the example of a kubelet makes', async () => {
  const files = { 'app.yaml': 'one', 'nested/deep.yaml': 'two', 'nested/other': 'three' }
  const theirs = scratch()
  await atomicWrite(theirs, files)
  const ours = await published(files)
  const shape = (directory: string) =>
    readdirSync(directory, { recursive: true })
      .map((name) => String(name).replace(data(directory), 'VERSION'))
      .sort()
  expect(shape(ours)).toEqual(shape(theirs))
  expect(readlinkSync(join(ours, 'nested'))).toBe('..data/nested')
  expect(data(ours)).toMatch(VERSION)
  // And each takes over from the other.
  expect(await publishDirectory(theirs, files)).toEqual({ changed: false })
  await publishDirectory(theirs, { 'app.yaml': 'new' })
  expect(readdirSync(theirs).sort()).toEqual(['..data', data(theirs), 'app.yaml'].sort())
})

test('modes: 0644 and 0755 whatever the umask, or the mode that is asked for and enough for it', async () => {
  const before = process.umask(0o077)
  onTestFinished(() => void process.umask(before))
  const directory = join(scratch(), 'new')
  await publishDirectory(directory, { 'a/b': '1' })
  const modes = () =>
    ['..data/', '..data/a/', 'a/b'].map((path) => statSync(join(directory, path)).mode & 0o7777)
  expect(modes()).toEqual([0o755, 0o755, 0o644])
  expect(statSync(directory).mode & 0o7777).toBe(0o755)
  await publishDirectory(directory, { 'a/b': '2' }, { mode: 0o440 })
  expect(modes()).toEqual([0o750, 0o750, 0o440])
})

test('the directory is made if it is missing, and its parent is not', async () => {
  const parent = scratch()
  await publishDirectory(join(parent, 'new/'), { a: '1' })
  expect(read(parent, 'new/a')).toBe('1')
  const nowhere = publishDirectory(join(parent, 'no/such'), { a: '1' })
  await expect(nowhere).rejects.toMatchObject({ code: 'ENOENT', path: join(parent, 'no/such') })
  await expect(publishDirectory(join(parent, 'new/a'), {})).rejects.toMatchObject({ code: 'ENOTDIR' })
})

test('no keys: those that were there go', async () => {
  const directory = await published({ a: '1' })
  expect(await publishDirectory(directory, {})).toEqual({ changed: true })
  expect(readdirSync(directory).sort()).toEqual([data(directory), '..data'].sort())
})

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
  const names = Calls.prototype.names
  vi.spyOn(Calls.prototype, 'names').mockImplementation(async function (this: Calls, fd, most) {
    // Of the directory itself.
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
  const rename = Calls.prototype.rename
  vi.spyOn(Calls.prototype, 'rename').mockImplementation(async function (this: Calls, from, to) {
    if (from.name === '..link_tmp') throw new CallError(constants.errno.EIO, 'rename')
    await rename.call(this, from, to)
  })
  onTestFinished(() => void vi.restoreAllMocks())
  await expect(publishDirectory(directory, { a: '1' })).rejects.toMatchObject({ code: 'EIO' })
  expect(readdirSync(directory).sort()).toEqual(['..data', data(directory), 'a'].sort())
})

describe('whose it is', () => {
  const isRoot = process.getuid?.() === 0
  const OLD = '..2020_01_01_00_00_00.123'
  const NOBODY = 65534

  /** A directory that all may write to, with what `lay` makes in it. */
  function shared(mode: number, lay: (directory: string) => void) {
    const directory = scratch()
    chmodSync(directory, mode)
    lay(directory)
    return directory
  }

  function others(path: string) {
    lchownSync(path, NOBODY, NOBODY)
  }

  function version(directory: string, name = OLD) {
    mkdirSync(join(directory, name))
    writeFileSync(join(directory, name, 'a'), '1')
    return join(directory, name)
  }

  test('what ..data leads to, and does not have the name of a version, stays', async () => {
    const directory = scratch()
    version(directory, '..mine')
    symlinkSync('..mine', join(directory, '..data'))
    expect(await publishDirectory(directory, { a: '1' })).toEqual({ changed: true })
    expect(readdirSync(directory).sort()).toEqual(['..data', data(directory), '..mine', 'a'].sort())
    expect(read(directory, '..mine/a')).toBe('1')
  })

  describe.skipIf(!isRoot)('in a sticky directory (needs root)', () => {
    test.each<[string, (directory: string) => void]>([
      ['..data', (directory) => symlinkSync(basename(version(directory)), join(directory, '..data'))],
      ['..data', (directory) => mkdirSync(join(directory, '..data'))],
      ['..data_tmp', (directory) => symlinkSync('x', join(directory, '..data_tmp'))],
      ['..link_tmp', (directory) => mkdirSync(join(directory, '..link_tmp'))],
      ['a', (directory) => symlinkSync('..data/a', join(directory, 'a'))],
      ['a', (directory) => writeFileSync(join(directory, 'a'), 'theirs')],
      [
        OLD,
        (directory) => {
          version(directory)
          symlinkSync(OLD, join(directory, '..data'))
        },
      ],
    ])('%s of another user is refused by its name, and nothing happens', async (name, lay) => {
      const directory = shared(0o1777, lay)
      others(join(directory, name))
      const before = readdirSync(directory)
      const refused = publishDirectory(directory, { a: '2' })
      await expect(refused).rejects.toMatchObject({ code: 'EACCES', path: join(directory, name) })
      await expect(refused).rejects.toThrow(/another user has laid it in a sticky directory: remove it/)
      expect(readdirSync(directory)).toEqual(before)
    })

    test("another's version, and a link that is no key's, stay; one's own go", async () => {
      const theirs = '..2021_01_01_00_00_00.123'
      const directory = shared(0o1777, (directory) => {
        others(version(directory, theirs))
        version(directory)
        for (const name of ['mine', 'theirs']) symlinkSync(`..data/${name}`, join(directory, name))
        others(join(directory, 'theirs'))
      })
      await publishDirectory(directory, { a: '1' })
      await publishDirectory(directory, { a: '2' })
      const kept = ['..data', data(directory), theirs, 'a', 'theirs']
      expect(readdirSync(directory).sort()).toEqual(kept.sort())
      expect(readdirSync(join(directory, theirs))).toEqual(['a'])
    })

    test("another's symlink is not followed to the directory; a symlink of one's own is, to one that is made too", async () => {
      const elsewhere = scratch()
      const directory = shared(0o1777, (directory) => {
        for (const name of ['mine', 'theirs']) symlinkSync(join(elsewhere, 'new'), join(directory, name))
        others(join(directory, 'theirs'))
      })
      const path = join(directory, 'theirs')
      await expect(publishDirectory(path, { a: '1' })).rejects.toMatchObject({ code: 'EACCES', path })
      await publishDirectory(join(directory, 'mine/'), { a: '1' })
      expect(read(elsewhere, 'new/a')).toBe('1')
    })
  })

  test.skipIf(!isRoot)("another's leftovers stay, also where it may write alone (needs root)", async () => {
    const directory = scratch()
    others(version(directory))
    await publishDirectory(directory, { a: '1' })
    expect(readdirSync(directory)).toContain(OLD)
  })

  test('where others may rename, a version is known by its mark: a directory of another use stays', async () => {
    const directory = shared(0o777, (directory) => void version(directory))
    await publishDirectory(directory, { a: '1' })
    const first = data(directory)
    expect(statSync(join(directory, first)).mode & 0o7777).toBe(0o1755)
    await publishDirectory(directory, { a: '2' })
    expect(readdirSync(directory).sort()).toEqual(['..data', data(directory), OLD, 'a'].sort())
    expect(data(directory)).not.toBe(first)
  })

  test.each([
    ['that is not empty', 0o755],
    ['that is private', 0o700],
    ['that all may write to', 0o1777],
  ])('a directory %s in the place of the new version: EBUSY, and it stays as it is', async (_, mode) => {
    const directory = await published({ a: '1' })
    chmodSync(directory, 0o777)
    const path = join(directory, 'private')
    mkdirSync(path)
    if (mode === 0o755) writeFileSync(join(path, 'key'), 'secret')
    chmodSync(path, mode)
    const mkdir = Calls.prototype.mkdir
    vi.spyOn(Calls.prototype, 'mkdir').mockImplementation(async function (this: Calls, at, made) {
      await mkdir.call(this, at, made)
      const name = String(at.name)
      if (!VERSION.test(name)) return
      rmdirSync(join(directory, name))
      renameSync(path, join(directory, name))
    })
    onTestFinished(() => void vi.restoreAllMocks())
    await expect(publishDirectory(directory, { a: '2' })).rejects.toMatchObject({ code: 'EBUSY' })
    expect(read(directory, 'a')).toBe('1')
    const exchanged = readdirSync(directory).find((name) => VERSION.test(name) && name !== data(directory))
    expect(statSync(join(directory, String(exchanged))).mode & 0o7777).toBe(mode)
  })

  test('of a directory that somebody has filled it is said that it is too large', async () => {
    const directory = scratch()
    const many = Array.from({ length: 65_537 }, (_, n) => Buffer.from(`${n}`))
    vi.spyOn(Calls.prototype, 'names').mockImplementation(async (_fd, most) => many.slice(0, most))
    onTestFinished(() => void vi.restoreAllMocks())
    const refused = publishDirectory(directory, { a: '1' })
    await expect(refused).rejects.toMatchObject({ code: 'EFBIG', path: directory })
    await expect(refused).rejects.toThrow(/more than 65536 entries/)
  })
})

test('a failure at any call before the swap leaves the version before, and nothing else', async () => {
  const directory = await published({ a: '1' })
  const before = readdirSync(directory)
  for (const name of ['write', 'mkdir', 'chmod', 'sync', 'symlink', 'rename'] as const) {
    const failing = vi.spyOn(Calls.prototype, name).mockRejectedValueOnce(new CallError(28, name))
    await expect(publishDirectory(directory, { a: '2', b: '2' }), name).rejects.toMatchObject({
      code: 'ENOSPC',
    })
    failing.mockRestore()
    expect(readdirSync(directory), name).toEqual(before)
  }
  expect(read(directory, 'a')).toBe('1')
})

test.skipIf(!mayUnshare)('a full or read-only mount (needs unshare -rm)', async () => {
  using namespace = await enterNamespace('mkdir full; mount -t tmpfs -o size=64k none full')
  const full = join(namespace.reach(namespace.directory), 'full')
  await publishDirectory(full, { a: 'old' })
  const failed = publishDirectory(full, { a: 'x'.repeat(100_000) })
  await expect(failed).rejects.toMatchObject({ code: 'ENOSPC', path: full })
  expect(readdirSync(full).sort()).toEqual(['..data', data(full), 'a'].sort())
  expect(read(full, 'a')).toBe('old')
})

test('on a mount that has one mode for all, as cifs has, versions come and go where others may rename too', async () => {
  const directory = scratch()
  chmodSync(directory, 0o777)
  const { mkdir, create } = Calls.prototype
  vi.spyOn(Calls.prototype, 'mkdir').mockImplementation(function (this: Calls, at) {
    return mkdir.call(this, at, 0o700)
  })
  vi.spyOn(Calls.prototype, 'create').mockImplementation(function (this: Calls, at) {
    return create.call(this, at, 0o700)
  })
  const chmod = vi.spyOn(Calls.prototype, 'chmod').mockResolvedValue()
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
  await vi.waitFor(() => expect(openDescriptors()).toBeLessThanOrEqual(before), { interval: 5 })
})

test("another process's lock is waited for", async ({ skip }) => {
  if (spawnSync('flock', ['--version']).error !== undefined) skip('needs flock(1)')
  const directory = await published({ a: '1' })
  const holder = spawn('flock', [directory, 'sh', '-c', 'echo held; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  const lock = vi.spyOn(Calls.prototype, 'lock')
  onTestFinished(() => void vi.restoreAllMocks())
  const publishing = publishDirectory(directory, { a: '2' })
  await vi.waitFor(() => expect(lock).toHaveBeenCalled())
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
  vi.spyOn(Calls.prototype, 'lock').mockRejectedValue(new CallError(constants.errno.EAGAIN, 'flock'))
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
    timeout: 10_000,
  })
  await Promise.all(all)
})

test('a file system without locks of directories does without', async () => {
  const directory = scratch()
  vi.spyOn(Calls.prototype, 'lock').mockRejectedValue(new CallError(9, 'flock'))
  onTestFinished(() => void vi.restoreAllMocks())
  expect(await publishDirectory(directory, { a: '1' })).toEqual({ changed: true })
})

test('a tight reader sees every key whole, and both of one version, in each of 100 updates', async () => {
  const version = (n: number) => ({ key: String.fromCharCode(65 + (n % 50)).repeat(65_536) })
  const directory = await published(version(0))
  const reader = spawn(
    process.execPath,
    [join(import.meta.dirname, '../mirror/reader.mjs'), join(directory, 'key')],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  onTestFinished(() => void reader.kill('SIGKILL'))
  await once(reader.stdout, 'data')
  for (let n = 1; n <= 100; n++) await publishDirectory(directory, version(n))
  reader.stdin.end()
  expect(JSON.parse(await text(reader.stdout))).toMatchObject({ missing: 0, torn: 0 })
})

test('names are names', async () => {
  const files = Object.fromEntries(STRANGE_NAMES.map((name) => [name, name]))
  const directory = await published(files)
  for (const name of STRANGE_NAMES) expect(read(directory, name)).toBe(name)
  expect(await publishDirectory(directory, files)).toEqual({ changed: false })
  expect(existsSync('x')).toBe(false)
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
      .spyOn(Calls.prototype, 'write')
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
