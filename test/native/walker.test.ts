import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loadAddon, type NativeWalker } from '../../src/addon.ts'
import { IN_CREATE, IN_DONT_FOLLOW, IN_ONLYDIR } from '../../src/inotify/constants.ts'
import { enterNamespace, mayUnshare } from '../mounts/namespace.ts'
import { openInstances } from '../support/descriptors.ts'
import { rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import {
  BOUNDARY,
  type Entry,
  fold,
  LOOK,
  NO_PARENT,
  OTHER_DEVICE,
  openQueue,
  pathsOf,
  RECURSIVE,
  STAT,
  WATCH,
  type WalkRecord,
  walk,
} from './walking.mjs'

function openWalker(): NativeWalker {
  const walker = new (loadAddon().Walker)()
  onTestFinished(() => walker.close())
  return walker
}

const latin1 = (bytes: Buffer) => bytes.toString('latin1')

/** Every kind of name that a file system takes. */
const NAMES = [
  'plain',
  'new\nline',
  'ESC\x1b[31m',
  '-rf',
  ' ',
  '...',
  'umlaut-ä',
  '文件',
  Buffer.from([0x66, 0xff, 0xfe, 0x80]),
  Buffer.from([0x80]),
  'x'.repeat(255),
  'ü'.repeat(127),
].map((name) => Buffer.from(name))

const beneath = (directory: string | Buffer, name: string | Buffer) =>
  Buffer.concat([Buffer.from(directory), Buffer.from('/'), Buffer.from(name)])

/** Makes a tree of so many directories, the same for the same seed, with entries of all kinds and names. */
function makeTree(directories: number, parent?: string): string {
  const root = scratch(parent)
  let seed = 1
  const below = (bound: number) => {
    seed = (seed * 48271) % 0x7fffffff
    return seed % bound
  }
  const made: Buffer[] = [Buffer.from(root)]
  for (let i = 1; i < directories; i++) {
    // Half of the directories are among the last few, so that the tree is deep as well as wide.
    const at = below(2) === 0 ? below(made.length) : made.length - 1 - below(Math.min(made.length, 4))
    const name = NAMES[below(3 * NAMES.length)] ?? Buffer.from(`directory-${i}`)
    const path = beneath(made[at] ?? root, Buffer.concat([name.subarray(0, 240), Buffer.from(`-${i}`)]))
    if (path.length > 3500) continue
    mkdirSync(path)
    made.push(path)
  }
  for (const path of made) {
    for (let n = below(6); n > 0; n--)
      writeFileSync(beneath(path, NAMES[below(NAMES.length)] ?? 'file'), '.'.repeat(n))
    if (below(4) === 0) symlinkSync('..', beneath(path, 'link to a directory'))
    if (below(8) === 0) symlinkSync('nowhere', beneath(path, 'dangling'))
  }
  for (let i = 0; i < 5; i++) execFileSync('mkfifo', [join(root, `fifo-${i}`)])
  return root
}

interface Expected {
  kind: string
  ino: number
}

/** Returns node's listing: the kind and inode number of each entry, by directory. */
function truth(root: string): Map<string, Map<string, Expected>> {
  const found = new Map<string, Map<string, Expected>>()
  const open = [Buffer.alloc(0)]
  for (let rel = open.pop(); rel !== undefined; rel = open.pop()) {
    const entries = new Map<string, Expected>()
    const path = rel.length > 0 ? beneath(root, rel) : Buffer.from(root)
    for (const each of readdirSync(path, { withFileTypes: true, encoding: 'buffer' })) {
      const kind = each.isFile()
        ? 'file'
        : each.isSymbolicLink()
          ? 'symlink'
          : each.isDirectory()
            ? 'directory'
            : 'other'
      const { ino } = lstatSync(beneath(path, each.name), { bigint: true })
      entries.set(latin1(each.name), { kind, ino: fold(ino) })
      if (kind === 'directory') open.push(rel.length > 0 ? beneath(rel, each.name) : each.name)
    }
    found.set(latin1(rel), entries)
  }
  return found
}

/** Returns the same from a walk. */
function found(records: WalkRecord[]): Map<string, Map<string, Expected>> {
  const paths = pathsOf(records)
  return new Map(
    records.map(({ id, files, subdirs }) => [
      latin1(paths.get(id) ?? Buffer.alloc(0)),
      new Map([...files, ...subdirs].map(({ name, kind, ino }) => [latin1(name), { kind, ino }])),
    ]),
  )
}

function expectStatOf(directory: Buffer, { name, ino, stat }: Entry): void {
  const expected = lstatSync(beneath(directory, name), { bigint: true })
  expect({ ino, ...stat }, latin1(name)).toEqual({
    ino: fold(expected.ino),
    mode: Number(expected.mode),
    uid: Number(expected.uid),
    gid: Number(expected.gid),
    nlink: Number(expected.nlink),
    size: Number(expected.size),
    mtime: fold(expected.mtimeNs),
    ctime: fold(expected.ctimeNs),
    ctimeMs: Number(expected.ctimeNs) / 1e6,
    btimeMs: Number(expected.birthtimeNs) / 1e6,
  })
}

// On a disk's filesystem, the kernel takes ten times as long to make and remove entries.
describe.each([
  ['/dev/shm', rounds(process.env.DIRECTORIES, { quick: 500, long: 1000 })],
  [tmpdir(), rounds(process.env.DIRECTORIES, { quick: 150, long: 1000 })],
])('a tree on %s of %i directories', (parent, directories) => {
  test('is what readdir finds, each parent before its children', async () => {
    const root = makeTree(directories, parent)
    const records = await walk(openWalker(), [{ flags: RECURSIVE, root }])
    expect(found(records)).toEqual(truth(root))
    expect(records.filter(({ error, wd, flags }) => error !== 0 || wd !== 0 || flags & ~4)).toEqual([])
    expect(records.filter(({ id }, i) => id !== i)).toEqual([])
    expect(records.filter(({ parent }) => parent === NO_PARENT)).toHaveLength(1)
    const { ino, mode, uid, gid, dev } = statSync(root, { bigint: true })
    expect(records[0]).toMatchObject({
      ino: fold(ino),
      mode: Number(mode),
      uid: Number(uid),
      gid: Number(gid),
      mount: loadAddon().mountId(root),
      name: Buffer.alloc(0),
    })
    const { major = 0, minor = 0 } = records[0] ?? {}
    expect((BigInt(major) << 8n) | BigInt(minor & 0xff) | (BigInt(minor >> 8) << 20n)).toBe(dev)
    const inodes = new Map(records.map((record) => [record.id, record]))
    for (const { parent, name, ino } of records.slice(1)) {
      expect(inodes.get(parent)?.subdirs.find((each) => each.name.equals(name))?.ino).toBe(ino)
    }
  })

  test('with STAT is what lstat says', async () => {
    const root = makeTree(Math.min(directories, 300), parent)
    const records = await walk(openWalker(), [{ flags: RECURSIVE | STAT, root }])
    expect(found(records)).toEqual(truth(root))
    const paths = pathsOf(records)
    for (const { id, files, subdirs } of records) {
      const directory = beneath(root, paths.get(id) ?? '')
      for (const entry of [...files, ...subdirs]) expectStatOf(directory, entry)
    }
  })

  test('with WATCH tells of a change in each of them', async () => {
    const root = makeTree(directories, parent)
    const seen = new Map<number, number>()
    let all: () => void = () => {}
    const everywhere = new Promise<void>((resolve) => {
      all = resolve
    })
    let count = Number.POSITIVE_INFINITY
    const queue = openQueue(loadAddon(), (wd, mask) => {
      if (mask & IN_CREATE) seen.set(wd, (seen.get(wd) ?? 0) + 1)
      if (seen.size === count) all()
    })
    onTestFinished(() => queue.close())
    const mask = IN_CREATE | IN_ONLYDIR | IN_DONT_FOLLOW
    const records = await walk(openWalker(), [{ flags: RECURSIVE | WATCH, root }], queue, mask)
    expect(new Set(records.map(({ wd }) => wd)).size).toBe(records.length)
    count = records.length
    const paths = pathsOf(records)
    for (const { id, wd } of records) {
      expect(wd).toBeGreaterThan(0)
      writeFileSync(beneath(beneath(root, paths.get(id) ?? ''), 'made'), '')
    }
    await everywhere
    expect([...seen.keys()].sort()).toEqual(records.map(({ wd }) => wd).sort())
    expect([...seen.values()].every((times) => times === 1)).toBe(true)
    expect(openInstances()).toBe(1)
  })
})

test('names come as they are, and are told to be ASCII or not', async () => {
  const root = scratch()
  for (const name of NAMES) mkdirSync(beneath(root, name))
  const [own, ...children] = await walk(openWalker(), [{ flags: RECURSIVE, root }])
  const ascii = (bytes: Buffer) => bytes.every((byte) => byte < 0x80)
  const expected = new Set(NAMES.map((name) => `${latin1(name)} ${ascii(name)}`))
  expect(new Set(own?.subdirs.map((entry) => `${latin1(entry.name)} ${entry.ascii}`))).toEqual(expected)
  expect(new Set(children.map((child) => `${latin1(child.name)} ${(child.flags & 4) !== 0}`))).toEqual(
    expected,
  )
})

test('a directory of 30,000 names is one record, and the next is small again', async () => {
  const root = scratch('/dev/shm')
  mkdirSync(join(root, 'huge'))
  mkdirSync(join(root, 'huge/next'))
  const names = Array.from({ length: 30_000 }, (_, i) => `${'n'.repeat(i % 200)}${i}`)
  for (const name of names) writeFileSync(join(root, 'huge', name), '')
  const records = await walk(openWalker(), [{ flags: RECURSIVE, root }])
  expect(records.map(({ files }) => files.length)).toEqual([0, 30_000, 0])
  expect(records[1]?.files.map(({ name }) => latin1(name)).sort()).toEqual(names.sort())
})

test('many requests, each with its own way: by the index', async () => {
  const root = makeTree(200)
  const paths = [...truth(root).keys()].map((path) => Buffer.from(path, 'latin1'))
  const records = await walk(
    openWalker(),
    paths.map((rel) => ({ flags: 0, root, rel })),
  )
  expect(records).toHaveLength(paths.length)
  const expected = truth(root)
  for (const { id, parent, files, subdirs } of records) {
    expect(parent).toBe(NO_PARENT)
    const names = new Map([...files, ...subdirs].map(({ name, kind, ino }) => [latin1(name), { kind, ino }]))
    expect(names).toEqual(expected.get(latin1(paths[id] ?? Buffer.from('?'))))
  }
})

test('LOOK: what there is of the names given, in their order, with their stat if that is asked for', async () => {
  const root = scratch()
  mkdirSync(join(root, 'in'))
  mkdirSync(join(root, 'in/directory'))
  symlinkSync('nowhere', join(root, 'in/link'))
  for (const name of NAMES) writeFileSync(beneath(join(root, 'in'), name), 'content')
  const names = ['link', 'directory', 'absent', 'y'.repeat(300), ...NAMES.slice(3)]
  const queue = openQueue(loadAddon())
  onTestFinished(() => queue.close())
  const flags = LOOK | WATCH | RECURSIVE
  const requests = [flags | STAT, flags].map((each) => ({ flags: each, root, rel: 'in', names }))
  const [record, bare, ...more] = await walk(openWalker(), requests, queue, IN_CREATE)
  expect(more).toEqual([])
  expect(record).toMatchObject({ id: 0, parent: NO_PARENT, wd: 0, error: 0, flags: 2 | 4 })
  expect(record?.subdirs.map(({ name }) => latin1(name))).toEqual(['directory'])
  expect(record?.files.map(({ name }) => latin1(name))).toEqual(['link', ...NAMES.slice(3).map(latin1)])
  for (const entry of [...(record?.files ?? []), ...(record?.subdirs ?? [])]) {
    expectStatOf(Buffer.from(join(root, 'in')), entry)
  }
  const withoutStat = ({ stat, ...entry }: NonNullable<typeof record>['files'][number]) => entry
  expect(bare?.files.map(withoutStat)).toEqual(record?.files.map(withoutStat))
  expect([...(bare?.files ?? []), ...(bare?.subdirs ?? [])].map(({ stat }) => stat)).toEqual(
    Array(bare?.files.length ?? 0)
      .fill(undefined)
      .concat(undefined),
  )
})

test('a directory that takes the name of one already listed is not taken for it', async () => {
  const root = scratch()
  mkdirSync(join(root, 'a/b'), { recursive: true })
  renameSync(join(root, 'a'), join(root, 'c'))
  symlinkSync('c', join(root, 'a'))
  const records = await walk(openWalker(), [{ flags: RECURSIVE, root }])
  expect(records.map(({ id }) => latin1(pathsOf(records).get(id) ?? Buffer.from('?')))).toEqual([
    '',
    'c',
    'c/b',
  ])
})

describe.skipIf(!mayUnshare)('at mounts (needs unshare -rm)', () => {
  test('neither watches nor lists what is mounted beneath, and says so', async () => {
    using namespace = await enterNamespace(
      `mkdir -p tree/plain/below tree/mounted tree/bound other/inside; mount -t tmpfs none tree/mounted
      mkdir tree/mounted/hidden; mount --bind other tree/bound`,
    )
    const root = namespace.reach(join(namespace.directory, 'tree'))
    const queue = openQueue(loadAddon())
    onTestFinished(() => queue.close())
    const records = await walk(openWalker(), [{ flags: RECURSIVE | WATCH, root }], queue, IN_CREATE)
    const paths = pathsOf(records)
    const byPath = new Map(
      records.map((record) => [latin1(paths.get(record.id) ?? Buffer.from('?')), record]),
    )
    expect([...byPath.keys()].sort()).toEqual(['', 'bound', 'mounted', 'plain', 'plain/below'])
    for (const name of ['bound', 'mounted']) {
      const record = byPath.get(name)
      expect(record, name).toMatchObject({ wd: 0, error: 0, files: [], subdirs: [] })
      expect(record && record.flags & BOUNDARY, name).toBe(BOUNDARY)
      expect(record?.mount, name).toBe(loadAddon().mountId(join(root, name)))
    }
    expect((byPath.get('mounted')?.flags ?? 0) & OTHER_DEVICE).toBe(OTHER_DEVICE)
    expect((byPath.get('bound')?.flags ?? 0) & OTHER_DEVICE).toBe(0)
    for (const name of ['', 'plain', 'plain/below']) expect(byPath.get(name)?.wd, name).toBeGreaterThan(0)
    // With a request of its own the directory is walked, and its own mount is the reference.
    const within = await walk(openWalker(), [{ flags: RECURSIVE | STAT, root, rel: 'mounted' }])
    expect(within.map(({ flags, subdirs }) => [flags, subdirs.map(({ name }) => latin1(name))])).toEqual([
      [4 | OTHER_DEVICE, ['hidden']],
      [4 | OTHER_DEVICE, []],
    ])
  })
})
