// A snapshot compared with the tree: for each option, for roots, and for files that cannot be compared.
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Change } from '../../../src/index.ts'
import { watch } from '../../../src/watch/calls.ts'
import { systemClock } from '../../../src/watch/clock.ts'
import { linux } from '../../../src/watch/linux.ts'
import { roomy } from '../../support/long.ts'
import { scratch } from '../../support/scratch.ts'
import { inWords, watching } from '../support.ts'
import { Consumer, save, seenBelow, settled, settledAt, since } from './remembering.ts'

/** Makes the files a, b and d/c. Returns the path for a snapshot as well. */
async function tree(): Promise<{ root: string; file: string; at(name: string): string }> {
  const root = scratch()
  mkdirSync(join(root, 'd'))
  for (const name of ['a', 'b', 'd/c']) writeFileSync(join(root, name), name)
  await settled(root)
  return { root, file: join(scratch(), 'saved'), at: (name) => join(root, name) }
}

const ALL = ['create directory d', 'create file a', 'create file b', 'create file d/c']

test.each(['inotify', 'poll'] as const)(
  'what was done is told before ready, and nothing else: %s',
  async (backend) => {
    const { root, file, at } = await tree()
    await save(root, file, { backend })
    expect((await since(root, file, { backend })).changes).toEqual([])
    renameSync(at('d'), at('e'))
    writeFileSync(at('a'), 'longer')
    rmSync(at('b'))
    writeFileSync(at('e/new'), '')
    const { changes, errors } = await since(root, file, { backend, initial: true })
    expect(changes.map((change) => inWords(change, root)).sort()).toEqual([
      'create file e/new',
      'delete file b',
      'modify file a',
      'rename directory d e',
    ])
    expect(changes.every(({ source }) => source === 'snapshot')).toBe(true)
    expect(errors).toEqual([])
  },
)

test.each([{ hash: false }, { hash: true, backend: 'poll' as const }])(
  'a file that was written is told though its mtime was put back, also with another mode or name: %o',
  async (options) => {
    const { root, file, at } = await tree()
    // utimes can set this time back to the ns.
    for (const name of ['a', 'b', 'd/c']) utimesSync(at(name), 1e9, 1e9)
    await settled(root)
    await save(root, file, options)
    for (const name of ['a', 'b', 'd/c']) {
      const { mtime, atime, size } = statSync(at(name))
      writeFileSync(at(name), '-'.repeat(size))
      utimesSync(at(name), atime, mtime)
    }
    chmodSync(at('b'), 0o600)
    renameSync(at('d/c'), at('d/e'))
    const { changes } = await since(root, file, options)
    expect(changes.map((change) => inWords(change, root)).sort()).toEqual([
      ...(options.hash ? [] : ['attrib file b']),
      'modify file a',
      'modify file b',
      'modify file d/e',
      'rename file d/c d/e',
    ])
  },
)

test('with hash, what has another mode or name alone is not told as written', async () => {
  const { root, file, at } = await tree()
  await save(root, file, { hash: true, backend: 'poll' })
  chmodSync(at('b'), 0o600)
  renameSync(at('d/c'), at('d/e'))
  const { changes } = await since(root, file, { hash: true, backend: 'poll' })
  expect(changes.map((change) => inWords(change, root)).sort()).toEqual([
    'attrib file b',
    'rename file d/c d/e',
  ])
})

test.each(['inotify', 'poll'] as const)(
  'what has changed since the last moment of which it is known that all had been told is in doubt, and told again: %s',
  async (backend) => {
    const { root, file } = await tree()
    // The clock that stamps files is ahead.
    const clock = { ...systemClock, now: () => systemClock.now() - 60_000 }
    const { watcher } = await watching(root, { recursive: true, backend }, { clock })
    await watcher.save(file)
    const { changes } = await since(root, file, { backend })
    expect(changes.map((change) => inWords(change, root)).sort()).toEqual([
      'attrib directory d',
      'modify file a',
      'modify file b',
      'modify file d/c',
    ])
  },
)

describe('what cannot be compared is said, and all is told as new', () => {
  test.each<[string, string, (file: string) => void]>([
    ['is missing', 'ENOENT', (file) => rmSync(file)],
    ['is torn', 'EBADMSG', (file) => truncateSync(file, statSync(file).size - 1)],
    ['is something else', 'EBADMSG', (file) => writeFileSync(file, 'something else')],
    [
      'is of another version',
      'EBADMSG',
      (file) => {
        const bytes = readFileSync(file)
        const at = bytes.indexOf('\n') + 1
        bytes[at] = 99
        writeFileSync(file, bytes)
      },
    ],
  ])('a file that %s: %s', async (_, code, spoil) => {
    const { root, file } = await tree()
    await save(root, file)
    spoil(file)
    const { changes, errors } = await since(root, file)
    expect(errors).toMatchObject([{ name: 'InotifyError', code, syscall: 'since', path: file }])
    expect(errors[0]?.message).toContain('all that is there is told as new')
    expect(changes.map((change) => inWords(change, root)).sort()).toEqual(ALL)
  })

  test('another root', async () => {
    const { root, file } = await tree()
    await save(scratch(), file)
    const { changes, errors } = await since(root, file)
    expect(errors).toMatchObject([{ code: 'ENODATA', path: file }])
    expect(changes.map((change) => inWords(change, root)).sort()).toEqual(ALL)
  })

  test('another filesystem', async (context) => {
    if (roomy === scratch().slice(0, roomy.length))
      context.skip('there is no /dev/shm beside the temporary directory')
    const { root, file } = await tree()
    const link = join(scratch(), 'link')
    const elsewhere = scratch('/dev/shm')
    symlinkSync(elsewhere, link)
    await save(link, file)
    rmSync(link)
    symlinkSync(root, link)
    const { changes, errors } = await since(link, file)
    expect(errors).toMatchObject([{ code: 'EXDEV', path: file }])
    expect(changes.map((change) => inWords(change, link)).sort()).toEqual(ALL)
  })

  test('of a filesystem whose inode numbers mean nothing by now, names are compared', async () => {
    const { root, file, at } = await tree()
    const filesystem = { type: 'fuse.sshfs', source: 'host:', device: '1' }
    const saving = { ...linux.saving, filesystemOf: async () => filesystem }
    const { watcher } = await watching(root, { recursive: true }, { saving })
    await watcher.save(file)
    const system = { saving: { ...saving, bootId: async () => 'another' } }
    expect((await watching(root, { recursive: true, since: file }, system)).changes).toEqual([])
    writeFileSync(at('a'), 'longer')
    renameSync(at('d'), at('e'))
    const { changes } = await watching(root, { recursive: true, since: file }, system)
    expect(changes.map((change) => inWords(change, root)).sort()).toEqual([
      'create directory e',
      'create file e/c',
      'delete directory d',
      'delete file d/c',
      'modify file a',
    ])
  })

  test('a directory that is a file by now, and the other way round', async () => {
    const { root, file, at } = await tree()
    await save([at('d'), at('a')], file)
    rmSync(at('d'), { recursive: true })
    writeFileSync(at('d'), '')
    rmSync(at('a'))
    mkdirSync(at('a'))
    writeFileSync(at('a/x'), '')
    const { changes, errors } = await since([at('d'), at('a')], file)
    expect(errors.map(({ code }) => code)).toEqual(['ENODATA', 'ENODATA'])
    expect(changes.map((change) => inWords(change, root)).sort()).toEqual([
      'create file a/x',
      'create file d',
    ])
  })
})

describe('options that differ between save() and since', () => {
  test('what is hidden now is told as deleted, what was hidden as created', async () => {
    const { root, file, at } = await tree()
    await save(root, file, { ignore: [at('a')] })
    const { changes } = await since(root, file, { ignore: [at('b'), at('d')] })
    expect(changes.map((change) => inWords(change, root)).sort()).toEqual([
      'create file a',
      'delete directory d',
      'delete file b',
      'delete file d/c',
    ])
  })

  test.each([
    [{ recursive: true }, { recursive: false }],
    [{ recursive: false }, { recursive: true }],
    [{ recursive: true, depth: 1 }, { recursive: true }],
    [{ recursive: true }, { recursive: true, depth: 1 }],
    [{ followSymlinks: true }, { followSymlinks: false }],
    [{ followSymlinks: false }, { followSymlinks: true }],
  ])('%o, then %o: the changes lead from the one to the other', async (one, other) => {
    const { root, file, at } = await tree()
    mkdirSync(at('d/e/f'), { recursive: true })
    writeFileSync(at('d/e/f/g'), '')
    const outside = scratch()
    writeFileSync(join(outside, 'x'), '')
    symlinkSync(outside, at('link'))
    const first = await watching(root, { recursive: true, ...one })
    await first.watcher.save(file)
    const kindsOf = (watcher: typeof first.watcher) =>
      new Map(
        [...watcher.entries()].filter(({ path }) => path !== root).map(({ path, kind }) => [path, kind]),
      )
    const before = kindsOf(first.watcher)
    const { changes, watcher } = await since(root, file, { ...other, expand: true })
    const consumer = new Consumer(
      new Map([...before].map(([path, kind]) => [path, { kind, content: '', mode: 0 }])),
      true,
    )
    consumer.apply(changes)
    const after = new Map([...consumer.names].map(([path, { kind }]) => [path, kind as 'file']))
    expect(after).toEqual(kindsOf(watcher))
  })

  test('links that are followed: what they lead to is compared', async () => {
    const { root, file, at } = await tree()
    const outside = scratch()
    for (const name of ['x', 'y']) writeFileSync(join(outside, name), '')
    symlinkSync(outside, at('link'))
    symlinkSync(join(outside, 'y'), at('to-y'))
    await settled(root, outside)
    await save(root, file, { followSymlinks: true })
    expect((await since(root, file, { followSymlinks: true })).changes).toEqual([])
    writeFileSync(join(outside, 'x'), 'written')
    writeFileSync(join(outside, 'y'), 'written')
    await settled(outside)
    const { changes } = await since(root, file, { followSymlinks: true })
    const words = changes.map((change) => inWords(change, root).replace(/symlink|file/, '')).sort()
    expect(words).toEqual(['modify  link/x', 'modify  link/y', 'modify  to-y'])
  })
})

describe('roots', () => {
  test('several, and files', async () => {
    const { root, file, at } = await tree()
    await save([at('a'), at('d'), at('b')], file)
    writeFileSync(at('a'), 'longer')
    writeFileSync(at('d/new'), '')
    const { changes } = await since([at('b'), at('d'), at('a')], file)
    expect(changes.map((change) => `${inWords(change, root)} ${change.source}`).sort()).toEqual([
      'create file d/new snapshot',
      'modify file a snapshot',
    ])
  })

  test('within roots: each path is told once, whichever is named first', async () => {
    const { root, file, at } = await tree()
    await save([at('d'), root], file)
    writeFileSync(at('d/new'), '')
    for (const roots of [
      [at('d'), root],
      [root, at('d')],
    ])
      expect((await since(roots, file)).changes.map((change) => inWords(change, root))).toEqual([
        'create file d/new',
      ])
  })

  test('one that is not there yet when it is saved: what comes is new', async () => {
    const { root, file, at } = await tree()
    await save(at('e'), file)
    mkdirSync(at('e'))
    writeFileSync(at('e/new'), '')
    const { changes, errors } = await since(at('e'), file)
    expect(changes.map((change) => inWords(change, root))).toEqual(['create file e/new'])
    expect(errors).toEqual([])
  })

  test('one that is gone is lost, and is compared when it is restored', async () => {
    const { root, file, at } = await tree()
    await save(at('d'), file)
    renameSync(at('d'), at('elsewhere'))
    const { changes, watcher } = await since(at('d'), file)
    expect(changes).toEqual([
      { type: 'lost', path: at('d'), kind: 'directory', reason: 'deleted', source: 'snapshot' },
    ])
    writeFileSync(at('elsewhere/new'), '')
    renameSync(at('elsewhere'), at('d'))
    await watcher.sync()
    expect(changes.slice(1).map((change) => inWords(change, root))).toEqual([
      'restored d',
      'create file d/new',
    ])
  })

  test('a file that is gone is lost, and is told as written when another comes', async () => {
    const { root, file, at } = await tree()
    await save(at('a'), file)
    rmSync(at('a'))
    const { changes, watcher } = await since(at('a'), file)
    writeFileSync(at('a'), 'another')
    await watcher.sync()
    expect(changes.map((change) => inWords(change, root))).toEqual(['lost a', 'restored a', 'modify file a'])
  })

  test('one that is lost when it is saved: all it has told may be otherwise', async () => {
    const { root, file, at } = await tree()
    const { watcher, told } = await watching(at('d'), { recursive: true })
    renameSync(at('d'), at('elsewhere'))
    expect((await told()).map((change) => inWords(change, root))).toEqual(['lost d'])
    await watcher.save(file)
    renameSync(at('elsewhere'), at('d'))
    writeFileSync(at('d/new'), '')
    const words = (await since(at('d'), file)).changes.map((change) => inWords(change, root)).sort()
    expect(words).toEqual(['create file d/new', 'modify file d/c'])
  })
})

describe('save()', () => {
  test('has what settle holds back told first', async () => {
    const { root, file, at } = await tree()
    const { watcher, changes } = await watching(root, { recursive: true, settle: 60_000 })
    writeFileSync(at('a'), 'longer')
    await watcher.save(file)
    expect(changes.map((change) => inWords(change, root))).toEqual(['modify file a'])
  })

  test('twice at once, and into what is watched', async () => {
    const { root, at } = await tree()
    const { watcher } = await watching(root, { recursive: true })
    await Promise.all([watcher.save(at('saved')), watcher.save(at('saved'))])
    expect(readdirSync(root).sort()).toEqual(['a', 'b', 'd', 'saved'])
    await watcher.close()
    // The snapshot's file lies in the watched tree, and is written after the state that it describes.
    const words = (await since(root, at('saved'))).changes.map((change) => inWords(change, root))
    expect(words).toEqual([words[0]?.startsWith('modify') ? 'modify file saved' : 'create file saved'])
  })

  test('while others write: what was told by then, and what is told since, lead to what is there', async () => {
    const { root, file, at } = await tree()
    const { watcher, changes } = await watching(root, { recursive: true })
    const names = new Set(seenBelow(root).keys())
    const apply = (told: Iterable<Change>) => {
      for (const change of told) {
        if (!('mask' in change)) continue
        if (change.type === 'delete') names.delete(change.path)
        else names.add(change.path)
        if (change.type === 'rename') names.delete(change.from)
      }
    }
    for (let i = 0; i < 20; i++) {
      const saving = watcher.save(file)
      for (let j = 0; j < 5; j++) {
        writeFileSync(at(`new${i}-${j}`), '')
        renameSync(at('b'), at('moved'))
        renameSync(at('moved'), at('b'))
        await setImmediate()
      }
      await saving
      apply(changes.splice(0))
      writeFileSync(at('a'), `${i}`)
      const next = await since(root, file)
      expect(next.changes.map((change) => inWords(change, root))).toContain('modify file a')
      apply(next.changes)
      expect(names).toEqual(new Set(seenBelow(root).keys()))
      await next.watcher.close()
    }
  })

  test('close() meanwhile rejects it, and leaves nothing half done', async () => {
    const { root } = await tree()
    const to = scratch()
    const { watcher } = await watching(root, { recursive: true })
    const saving = watcher.save(join(to, 'saved'))
    saving.catch(() => {})
    await watcher.close()
    await expect(saving).rejects.toMatchObject({ code: 'EBADF' })
    expect(readdirSync(to).filter((name) => name !== 'saved')).toEqual([])
    await expect(watcher.save(join(to, 'saved'))).rejects.toMatchObject({ code: 'EBADF' })
  })

  test('says why it could not write, and leaves what was there', async () => {
    const { root, file } = await tree()
    const { watcher } = await watching(root)
    await expect(watcher.save(join(file, 'no directory'))).rejects.toMatchObject({
      name: 'InotifyError',
      code: 'ENOENT',
    })
    await expect(watcher.save(root)).rejects.toMatchObject({ code: 'EISDIR' })
    await watcher.save(file)
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })
})

test.each([
  ['inotify', { recursive: false }],
  ['inotify', { depth: 0 }],
  ['poll', { recursive: false }],
] as const)(
  'a directory that was gone into, and is not any more, is there as it was, beside files that are as they were: %s, %j',
  async (backend, options) => {
    const { root, file, at } = await tree()
    await save(root, file, { backend })
    const { watcher, changes, errors } = await since(root, file, { backend, ...options })
    const consumer = new Consumer(seenBelow(root))
    consumer.apply(changes)
    expect([...consumer.names.keys()].toSorted()).toEqual([at('a'), at('b'), at('d')])
    expect([...watcher.entries()].map(({ path }) => path).toSorted()).toEqual([
      root,
      at('a'),
      at('b'),
      at('d'),
    ])
    expect(errors).toEqual([])
    mkdirSync(at('d2'))
    await watcher.sync()
    expect(watcher.has(at('d2'))).toBe(true)
  },
)

test('names that are no UTF-8, and a large directory', async () => {
  const root = scratch(roomy)
  const file = join(scratch(), 'saved')
  const odd = (byte: number) => Buffer.concat([Buffer.from(`${root}/odd`), Buffer.of(byte)])
  for (const byte of [0xf0, 0xff]) writeFileSync(odd(byte), '')
  mkdirSync(odd(0xfe))
  writeFileSync(Buffer.concat([odd(0xfe), Buffer.from('/x')]), '')
  for (let i = 0; i < 20_000; i++) writeFileSync(join(root, `file-${i}`), '')
  await settledAt(root)
  await save(root, file)
  expect((await since(root, file)).changes).toEqual([])
  renameSync(odd(0xf0), odd(0xf1))
  writeFileSync(odd(0xff), 'written')
  renameSync(odd(0xfe), odd(0xfd))
  const words: string[] = []
  const watcher = watch(root, { recursive: true, since: file, encoding: 'buffer' })
  onTestFinished(() => watcher.close())
  watcher.on('changes', (batch) => {
    for (const change of batch)
      words.push(`${change.type} ${change.path.toString('latin1').slice(root.length + 1)}`)
  })
  await watcher.ready
  expect(words.sort()).toEqual(['modify odd\xf1', 'modify odd\xff', 'rename odd\xf1', 'rename odd\xfd'])
})

test('bad arguments are TypeErrors', async () => {
  for (const bad of ['', 'a\0b', 1, null])
    expect(() => watch('/', { since: bad as string })).toThrow(/options.since must be a string/)
  const { watcher } = await watching(scratch())
  await expect(watcher.save('')).rejects.toThrow(TypeError)
  await expect(watcher.save(1 as unknown as string)).rejects.toThrow(/file must be a string/)
})
