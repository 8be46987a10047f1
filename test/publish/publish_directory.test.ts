import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { publishDirectory } from '../../src/index.ts'
import { CallError } from '../../src/mounts/syscalls/call_error.ts'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { enterNamespace, mayUnshare } from '../mounts/namespace.ts'
import { isRoot } from '../support/others.ts'
import { scratch } from '../support/scratch.ts'
import { data, published, read, VERSION } from './published.ts'
import { STRANGE_NAMES, watched } from './watched.ts'

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

test('a failure at any call before the swap leaves the version before, and nothing else', async () => {
  const directory = await published({ a: '1' })
  const before = readdirSync(directory)
  for (const name of ['write', 'mkdir', 'chmod', 'sync', 'symlink', 'rename'] as const) {
    const failing = vi.spyOn(SyscallThread.prototype, name).mockRejectedValueOnce(new CallError(28, name))
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

// Varied: who else may write above; 0o2000 is taken over from it.
test.each([0o755, 0o777, 0o1777, 0o2775, 0o2777])(
  'a directory that is made has 0755 whatever the umask, and whoever may write above it: %o',
  async (above) => {
    const before = process.umask(0o077)
    onTestFinished(() => void process.umask(before))
    const parent = scratch()
    chmodSync(parent, above)
    await publishDirectory(join(parent, 'new'), { a: '1' })
    expect(statSync(join(parent, 'new')).mode & 0o5777).toBe(0o755)
    await publishDirectory(join(parent, 'secret'), { a: '1' }, { mode: 0o600 })
    expect(statSync(join(parent, 'secret')).mode & 0o5777).toBe(0o700)
  },
)

// Kubernetes' fsGroup: an emptyDir is 2775 and of that group. Varied: who may write, and who publishes: root, or one who is in the group, or not.
describe.skipIf(!isRoot)('in a set-group-ID directory each key has its group (needs root)', () => {
  const GROUP = 2000
  test.each([
    [0o2775, []],
    [0o2755, []],
    [0o2777, ['setpriv', '--reuid=65534', '--regid=65534', '--groups=2000']],
    [0o2777, ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']],
  ])('%o %j', (mode, as) => {
    const base = scratch()
    const above = join(base, 'above')
    chmodSync(base, 0o755)
    mkdirSync(above)
    chownSync(above, 0, GROUP)
    chmodSync(above, mode)
    const script = `import(process.argv[1]).then(async ({ publishDirectory }) => {
      for (const version of ['1', '2'])
        await publishDirectory(process.argv[2], { key: version, 'sub/below/key': version }, { mode: 0o640 })
    })`
    const index = join(import.meta.dirname, '../../dist/publish.js')
    const [program = '', ...args] = [...as, process.execPath, '-e', script, index, above]
    const { stderr } = spawnSync(program, args, { encoding: 'utf8', cwd: '/' })
    expect(stderr).toBe('')
    for (const key of ['key', 'sub/below/key']) {
      const { gid, mode } = statSync(join(above, key))
      expect([gid, mode & 0o777]).toEqual([GROUP, 0o640])
    }
  })
})
