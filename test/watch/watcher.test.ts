import {
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { IN_CLOSE_WRITE, IN_MODIFY } from '../../src/index.ts'
import { scratch } from '../support/scratch.ts'
import {
  inWords,
  RENAME_EXCHANGE,
  RENAME_WHITEOUT,
  Replay,
  reality,
  renameWith,
  story,
  watching,
} from './support.ts'

const BACKENDS = ['inotify', 'poll'] as const
// Longer than any test: sync(), and no timer, found a change.
const NEVER = 1_000_000

interface Scenario {
  title: string
  before?: (directory: string) => void
  act: (directory: string) => void
  told: string[]
}

const write = (directory: string, name: string, content = 'x') =>
  writeFileSync(join(directory, name), content)

/** Changes that both sources tell alike. */
const scenarios: Scenario[] = [
  {
    title: 'create',
    act: (d) => write(d, 'a'),
    told: ['create file a'],
  },
  {
    title: 'modify',
    before: (d) => write(d, 'a'),
    act: (d) => write(d, 'a', 'longer'),
    told: ['modify file a'],
  },
  {
    title: 'chmod is attrib',
    before: (d) => write(d, 'a'),
    act: (d) => chmodSync(join(d, 'a'), 0o600),
    told: ['attrib file a'],
  },
  {
    title: 'delete',
    before: (d) => write(d, 'a'),
    act: (d) => unlinkSync(join(d, 'a')),
    told: ['delete file a'],
  },
  {
    title: 'rename',
    before: (d) => write(d, 'a'),
    act: (d) => renameSync(join(d, 'a'), join(d, 'b')),
    told: ['rename file a b'],
  },
  {
    title: 'rename over',
    before: (d) => ['a', 'b'].map((name) => write(d, name, name)),
    act: (d) => renameSync(join(d, 'a'), join(d, 'b')),
    told: ['rename file a b replaced'],
  },
  {
    title: 'the way is cleared, then taken',
    before: (d) => ['a', 'b'].map((name) => write(d, name, name)),
    act: (d) => {
      renameSync(join(d, 'b'), join(d, 'c'))
      renameSync(join(d, 'a'), join(d, 'b'))
    },
    told: ['rename file b c', 'rename file a b'],
  },
  {
    title: 'an exchange',
    before: (d) => {
      write(d, 'a')
      mkdirSync(join(d, 'b'))
    },
    act: (d) => renameWith(RENAME_EXCHANGE, join(d, 'a'), join(d, 'b')),
    told: ['exchange directory a file b'],
  },
  {
    title: 'symlinks are not followed',
    before: (d) => write(d, 'a'),
    act: (d) => {
      symlinkSync('a', join(d, 'link'))
      symlinkSync('/nowhere', join(d, 'dangling'))
    },
    told: ['create symlink link', 'create symlink dangling'],
  },
  {
    title: 'a directory, and not what is in it',
    act: (d) => {
      mkdirSync(join(d, 'sub'))
      write(join(d, 'sub'), 'deeper')
      mkdirSync(join(d, 'sub/sub'))
    },
    told: ['create directory sub'],
  },
  {
    title: 'a directory is renamed and removed',
    before: (d) => ['a', 'b'].map((name) => mkdirSync(join(d, name))),
    act: (d) => {
      rmdirSync(join(d, 'b'))
      renameSync(join(d, 'a'), join(d, 'c'))
    },
    told: ['delete directory b', 'rename directory a c'],
  },
  {
    title: 'names with a newline, an escape, and a leading dash',
    act: (d) => ['a\nb', '\x1b[0m', '-rf', 'größe'].map((name) => mkdirSync(join(d, name))),
    told: [
      'create directory a\nb',
      'create directory \x1b[0m',
      'create directory -rf',
      'create directory größe',
    ],
  },
  {
    title: 'two names that are no UTF-8, and of which one goes',
    before: (d) => [0xfe, 0xff].map((byte) => mkdirSync(bytes(d, byte))),
    act: (d) => rmdirSync(bytes(d, 0xff)),
    told: ['delete directory \ufffd'],
  },
  {
    title: 'nothing',
    before: (d) => write(d, 'a'),
    act: () => {},
    told: [],
  },
]

const bytes = (directory: string, byte: number) =>
  Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([byte])])

describe.each(BACKENDS)('%s', (backend) => {
  const options = { backend, interval: NEVER }

  test.each(scenarios)('$title', async ({ before, act, told: expected }) => {
    const directory = scratch()
    before?.(directory)
    const { told } = await watching(directory, options)
    act(directory)
    const changes = await told()
    const lines = story(changes, directory)
    // A poll tells renames first, and the rest in the order of the directory.
    if (backend === 'poll') expect(lines.toSorted()).toEqual(expected.toSorted())
    else expect(lines).toEqual(expected)
    expect(changes.every(({ source }) => source === backend)).toBe(true)
    expect(story(await told(), directory)).toEqual([])
  })

  test('a restored mtime does not hide a write', async () => {
    const directory = scratch()
    const path = join(directory, 'a')
    write(directory, 'a', 'old')
    utimesSync(path, 1, 1)
    const { told } = await watching(directory, options)
    write(directory, 'a', 'new')
    utimesSync(path, 1, 1)
    expect(story(await told(), directory)).toContain('modify file a')
  })

  test('from one root to another', async () => {
    const base = scratch()
    const [one, two] = [join(base, 'one'), join(base, 'two')]
    for (const path of [one, two]) mkdirSync(path)
    write(one, 'a')
    const { told } = await watching([one, two], options)
    renameSync(join(one, 'a'), join(two, 'b'))
    expect(story(await told(), base)).toEqual(['rename file one/a two/b'])
  })

  test('into the tree is a create, out of it a delete', async () => {
    const [directory, outside] = [scratch(), scratch()]
    write(directory, 'a')
    write(outside, 'b')
    const { told } = await watching(directory, options)
    renameSync(join(directory, 'a'), join(outside, 'a'))
    renameSync(join(outside, 'b'), join(directory, 'b'))
    expect(story(await told(), directory).toSorted()).toEqual(['create file b', 'delete file a'])
    expect(await told()).toEqual([])
  })

  test('out and in again under the same name: the file is there in the end', async () => {
    const [directory, outside] = [scratch(), scratch()]
    write(directory, 'a')
    const { told } = await watching(directory, options)
    const replay = new Replay()
    replay.names.set(join(directory, 'a'), 'file')
    renameSync(join(directory, 'a'), join(outside, 'a'))
    renameSync(join(outside, 'a'), join(directory, 'a'))
    replay.apply(await told())
    expect(replay.names).toEqual(reality(directory))
  })

  test('initial: what is there is created before ready', async () => {
    const directory = scratch()
    write(directory, 'a')
    mkdirSync(join(directory, 'b'))
    const { changes, told } = await watching(directory, { ...options, initial: true })
    expect(changes.map((change) => inWords(change, directory)).toSorted()).toEqual([
      'create directory b',
      'create file a',
    ])
    expect(changes.every(({ source }) => source === 'rescan')).toBe(true)
    changes.length = 0
    expect(await told()).toEqual([])
  })

  test.each([
    ['a function', (path: string) => path.endsWith('.tmp')],
    ['a pattern', [/\.tmp$/]],
  ])('ignore by %s: neither at first nor later, nor on either side of a rename', async (_, ignore) => {
    const directory = scratch()
    const [a, b, tmp, temporary] = ['a', 'b', 'a.tmp', 'b.tmp'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
      string,
    ]
    writeFileSync(tmp, '')
    const { told, changes } = await watching(directory, { ...options, ignore, initial: true })
    expect(changes).toEqual([])
    writeFileSync(temporary, 'x')
    expect(await told()).toEqual([])
    renameSync(temporary, b)
    expect(story(await told(), directory)).toEqual(['create file b'])
    renameSync(b, temporary)
    expect(story(await told(), directory)).toEqual(['delete file b'])
    renameSync(tmp, temporary)
    unlinkSync(temporary)
    writeFileSync(a, '')
    expect(story(await told(), directory)).toEqual(['create file a'])
  })

  test('ignore by prefix: whole components', async () => {
    const directory = scratch()
    const { told } = await watching(directory, { ...options, ignore: [join(directory, 'a')] })
    for (const name of ['a', 'ab']) mkdirSync(join(directory, name))
    expect(story(await told(), directory)).toEqual(['create directory ab'])
  })

  test('a root is added and removed', async () => {
    const base = scratch()
    const [one, two] = [join(base, 'one'), join(base, 'two')]
    for (const path of [one, two]) mkdirSync(path)
    const { watcher, told } = await watching(one, options)
    mkdirSync(join(two, 'before'))
    await watcher.add(two)
    await watcher.add(`${two}/`)
    mkdirSync(join(two, 'after'))
    expect(story(await told(), base)).toEqual(['create directory two/after'])
    expect(watcher.coverage().map(({ path }) => path)).toEqual([one, two])

    mkdirSync(join(one, 'last'))
    await watcher.sync()
    mkdirSync(join(one, 'late'))
    await watcher.remove(one)
    mkdirSync(join(one, 'later'))
    await watcher.remove('/no/root')
    const lines = story(await told(), base)
    expect(lines[0]).toBe('create directory one/last')
    expect(lines).not.toContain('create directory one/later')
    expect(watcher.coverage().map(({ path }) => path)).toEqual([two])
  })

  test('one directory as two roots: each is told of it, and one can be removed', async () => {
    const base = scratch()
    const [real, alias] = [join(base, 'real'), join(base, 'alias')]
    mkdirSync(real)
    symlinkSync('real', alias)
    const { watcher, told } = await watching([real, alias], options)
    mkdirSync(join(real, 'a'))
    renameSync(join(real, 'a'), join(real, 'b'))
    const lines = story(await told(), base)
    for (const root of ['real', 'alias']) {
      const told = lines.filter((line) => line.includes(`${root}/`))
      expect(told.at(-1)).toMatch(
        backend === 'inotify' ? `rename directory ${root}/a ${root}/b` : `${root}/b`,
      )
    }
    await watcher.remove(real)
    rmdirSync(join(real, 'b'))
    expect(story(await told(), base)).toEqual(['delete directory alias/b'])
  })

  test('a root that cannot be added leaves nothing behind', async () => {
    const base = scratch()
    const { watcher, told } = await watching(base, options)
    await expect(watcher.add(join(base, 'n'.repeat(300)))).rejects.toMatchObject({ code: 'ENAMETOOLONG' })
    expect(watcher.coverage()).toHaveLength(1)
    mkdirSync(join(base, 'a'))
    expect(story(await told(), base)).toEqual(['create directory a'])
  })

  test('coverage says which source, and why', async () => {
    const directory = scratch()
    const { watcher } = await watching(directory, options)
    expect(watcher.coverage()).toEqual([
      {
        path: directory,
        backend,
        why: expect.stringMatching(/^asked for, .*would have/),
        ...(backend === 'poll' ? { latency: expect.any(Number) } : {}),
        directories: 1,
        uncovered: [],
      },
    ])
  })

  test('without sync: changes come by themselves', async () => {
    const directory = scratch()
    const { changes } = await watching(directory, { backend, interval: 5 })
    mkdirSync(join(directory, 'a'))
    await expect.poll(() => story(changes, directory)).toEqual(['create directory a'])
    renameSync(join(directory, 'a'), `${directory}-elsewhere`)
    await expect.poll(() => story(changes, directory)).toEqual(['create directory a', 'delete directory a'])
    rmdirSync(`${directory}-elsewhere`)
  })
})

test('inotify: events that were read before a root was removed, and come after it, are not told', async () => {
  const [root, other] = [scratch(), scratch()]
  for (let i = 0; i < 200; i++) write(other, `f${i}`)
  const { watcher, told } = await watching(root, { backend: 'inotify' })
  const adding = watcher.add(other)
  // The removal waits behind the listing of the other root, and the event behind the removal.
  await watcher.ready
  const removing = watcher.remove(root)
  mkdirSync(join(root, 'late'))
  await Promise.all([adding, removing])
  expect(await told()).toEqual([])
})

test('inotify: masks are joined, so that the end of writing is told', async () => {
  const directory = scratch()
  write(directory, 'a')
  const { told } = await watching(directory, { backend: 'inotify' })
  write(directory, 'a', 'more')
  const masks = (await told()).map((change) => ('mask' in change ? change.mask : 0))
  expect(masks.reduce((all, mask) => all | mask)).toBe(IN_MODIFY | IN_CLOSE_WRITE)
})

test('inotify: RENAME_WHITEOUT leaves a device of which no event tells', async (context) => {
  if (process.getuid?.() !== 0) context.skip('a whiteout needs CAP_MKNOD')
  const directory = scratch()
  write(directory, 'a')
  const { told } = await watching(directory, { backend: 'inotify' })
  renameWith(RENAME_WHITEOUT, join(directory, 'a'), join(directory, 'b'))
  expect(story(await told(), directory)).toEqual(['rename file a b', 'create other a'])
})

test('poll: a hard link is an attrib of the old name and a create of the new', async () => {
  const directory = scratch()
  write(directory, 'a')
  const { told } = await watching(directory, { backend: 'poll', interval: NEVER })
  linkSync(join(directory, 'a'), join(directory, 'b'))
  expect(story(await told(), directory).toSorted()).toEqual(['attrib file a', 'create file b'])
})
