// Two entries that change places are one change, and each change can be applied alone: a consumer with a
// plain table of names loses nothing.
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Change, Kind, WatchOptions } from '../../../src/index.ts'
import { Watcher } from '../../../src/watch/watcher.ts'
import { compile } from '../../support/compile.ts'
import { scratch } from '../../support/scratch.ts'
import { AppliedAlone } from '../applied_alone.ts'
import { inWords, RENAME_EXCHANGE, renameWith, watching } from '../support.ts'
import { losing, readingOne, untilPast } from './losing.ts'
import { namesIn } from './names.ts'

const NEVER = 1_000_000

type At = (path: string) => string

// One event a read, as when the reader is quicker than the kernel.
const EVENTS_APART = 'events, each read for itself'
const SOURCES = ['events', EVENTS_APART, 'polling', 'the rescan after an overflow'] as const

/**
 * Watches a tree, does `act` in it, and returns the changes in words. Fails if the changes, each applied
 * alone, do not lead to the tree.
 */
async function toldBy(
  source: (typeof SOURCES)[number],
  plant: (at: At) => void,
  act: (at: At) => void,
  options: WatchOptions = {},
  hides: (path: string) => boolean = () => false,
): Promise<string[]> {
  const base = scratch()
  const root = join(base, 'tree')
  const at: At = (path) => join(root, path)
  mkdirSync(root)
  plant(at)
  await untilPast(root)
  const visible = () => namesIn(root).filter(([path]) => !hides(path))
  const believed = new AppliedAlone(root).adopt(visible())
  const { system, lose } = losing()
  const backend = source === 'polling' ? 'poll' : 'inotify'
  const { told } = await watching(
    root,
    { backend, recursive: true, interval: NEVER, ...options },
    source === EVENTS_APART ? readingOne() : system,
  )
  await told()
  if (source === 'the rescan after an overflow') lose()
  act(at)
  const changes = await told()
  believed.apply(changes)
  expect([...believed.names].toSorted()).toEqual(visible().toSorted())
  // Neither a poll nor a rescan can tell a written file from a moved one.
  const isMove = ({ type }: Change) => !['overflow', 'recovered', 'modify', 'attrib'].includes(type)
  return changes.filter(isMove).map((change) => words(change, root))
}

/** Describes a change. Sorts the two places of an exchange, because neither is the first. */
function words(change: Change, root: string): string {
  if (change.type !== 'exchange') return inWords(change, root)
  const places: Array<[string, Kind]> = [
    [change.path, change.kind],
    [change.other, change.otherKind],
  ]
  const sorted = places.map(([path, kind]) => `${path.slice(root.length + 1)} (${kind})`).toSorted()
  return `exchange: ${sorted.join(', ')}`
}

const file = (at: At, ...paths: string[]) => {
  for (const path of paths) {
    mkdirSync(join(at(path), '..'), { recursive: true })
    writeFileSync(at(path), path)
  }
}

const exchange = (at: At, one: string, other: string) => renameWith(RENAME_EXCHANGE, at(one), at(other))

/** Moves each entry to the place of the next, and the last to that of the first. */
const turn = (at: At, ...names: string[]) => {
  const last = names.at(-1) as string
  renameSync(at(last), at('aside'))
  for (let i = names.length - 2; i >= 0; i--) renameSync(at(names[i] as string), at(names[i + 1] as string))
  renameSync(at('aside'), at(names[0] as string))
}

const EXCHANGES: Array<[title: string, plant: (at: At) => void, act: (at: At) => void, told: string[]]> = [
  ['two files', (at) => file(at, 'a', 'b'), (at) => exchange(at, 'a', 'b'), ['exchange: a (file), b (file)']],
  [
    'two files of different directories',
    (at) => file(at, 'd/a', 'e/b'),
    (at) => exchange(at, 'd/a', 'e/b'),
    ['exchange: d/a (file), e/b (file)'],
  ],
  [
    'two directories, with what is in them',
    (at) => file(at, 'd/x', 'd/in/y', 'e/x', 'e/z'),
    (at) => exchange(at, 'd', 'e'),
    ['exchange: d (directory), e (directory)'],
  ],
  [
    'two directories of different depth',
    (at) => file(at, 'd/x', 'e/in/y'),
    (at) => exchange(at, 'd', 'e/in'),
    ['exchange: d (directory), e/in (directory)'],
  ],
  [
    'a directory and a file',
    (at) => file(at, 'd/x', 'f'),
    (at) => exchange(at, 'd', 'f'),
    ['exchange: d (file), f (directory)'],
  ],
  [
    'a file and a link',
    (at) => {
      file(at, 'f')
      symlinkSync('nowhere', at('l'))
    },
    (at) => exchange(at, 'f', 'l'),
    ['exchange: f (symlink), l (file)'],
  ],
  [
    'two pairs',
    (at) => file(at, 'a', 'b', 'd/x', 'e/y'),
    (at) => {
      exchange(at, 'a', 'b')
      exchange(at, 'd', 'e')
    },
    ['exchange: a (file), b (file)', 'exchange: d (directory), e (directory)'],
  ],
]

describe.each(SOURCES)('by %s', (source) => {
  const isOne = source !== EVENTS_APART

  test.each(EXCHANGES)(
    `an exchange ${isOne ? 'is one change' : 'loses nothing'}: %s`,
    async (_, plant, act, expected) => {
      const told = await toldBy(source, plant, act)
      if (isOne) expect(told.toSorted()).toEqual(expected)
    },
  )

  test('with ignore rules as well', async () => {
    const plant = (at: At) => file(at, 'd/x', 'e/y')
    const told = await toldBy(source, plant, (at) => exchange(at, 'd', 'e'), { ignore: [/ignored$/] })
    if (isOne) expect(told).toEqual(['exchange: d (directory), e (directory)'])
  })

  test.each([
    ['file', 'a', 'a.ignored'],
    ['directory', 'd', 'd.ignored'],
  ])('an exchange with what is ignored is none, and no name is lost: a %s', async (_, name, ignored) => {
    const plant = (at: At) => file(at, 'a', 'a.ignored', 'd/x', 'd.ignored/y')
    const ignore = [/\.ignored(\/|$)/]
    const hides = (path: string) => path.includes('.ignored')
    const told = await toldBy(source, plant, (at) => exchange(at, name, ignored), { ignore }, hides)
    expect(told.filter((line) => /exchange|ignored/.test(line))).toEqual([])
  })

  test.each([
    ['file', 'a'],
    ['directory', 'd'],
  ])('an exchange with what lies outside is none, and no name is lost: a %s', async (_, name) => {
    const plant = (at: At) => file(at, 'a', 'd/x', '../out/a', '../out/d/y')
    const told = await toldBy(source, plant, (at) => exchange(at, name, `../out/${name}`))
    expect(told.filter((line) => line.includes('exchange'))).toEqual([])
  })

  test.each([
    ['and one is renamed', (at: At) => renameSync(at('b'), at('c'))],
    ['and back', (at: At) => exchange(at, 'a', 'b')],
    ['and one has another in its place', (at: At) => renameSync(at('b'), at('other'))],
    ['and one with a third', (at: At) => exchange(at, 'b', 'other')],
  ])('an exchange %s: each change can be applied alone', async (_, then) => {
    const plant = (at: At) => file(at, 'a', 'b', 'other')
    await toldBy(source, plant, (at) => {
      exchange(at, 'a', 'b')
      then(at)
    })
  })
})

describe.each(['polling', 'the rescan after an overflow'] as const)('by %s', (source) => {
  const isExchange = (line: string) => line.startsWith('exchange: ')

  test.each([
    ['three files', ['a', 'b', 'c']],
    ['three directories', ['d', 'e', 'g']],
    ['files and a directory', ['a', 'd', 'b']],
    ['files of different directories', ['a', 'd/x', 'e/y']],
    ['five', ['a', 'b', 'c', 'd', 'e']],
  ])('a circle of n is n - 1 exchanges: %s', async (_, names) => {
    const plant = (at: At) => file(at, 'a', 'b', 'c', 'd/x', 'e/y', 'g/z')
    const told = await toldBy(source, plant, (at) => turn(at, ...names))
    expect(told).toHaveLength(names.length - 1)
    expect(told.filter(isExchange)).toEqual(told)
  })

  test('a chain is no circle: what moves on to a free name is renamed, and each name is free when it is taken', async () => {
    const told = await toldBy(
      source,
      (at) => file(at, 'a', 'b', 'c'),
      (at) => {
        renameSync(at('c'), at('free'))
        renameSync(at('b'), at('c'))
        renameSync(at('a'), at('b'))
      },
    )
    expect(told).toEqual(['rename file c free', 'rename file b c', 'rename file a b'])
  })
})

test('what is done after an exchange is told under the new names', async () => {
  const root = scratch()
  const at: At = (path) => join(root, path)
  file(at, 'd/x', 'e/y')
  const { told } = await watching(root, { backend: 'inotify', recursive: true, interval: NEVER })
  exchange(at, 'd', 'e')
  expect((await told()).map((change) => words(change, root))).toEqual([
    'exchange: d (directory), e (directory)',
  ])
  appendFileSync(at('d/y'), 'more')
  appendFileSync(at('e/x'), 'more')
  expect((await told()).map((change) => words(change, root))).toEqual(['modify file d/y', 'modify file e/x'])
})

test('settle does not hold an exchange back', async () => {
  const root = scratch()
  const at: At = (path) => join(root, path)
  file(at, 'a', 'b')
  const { changes } = await watching(root, { backend: 'inotify', interval: NEVER, settle: NEVER })
  exchange(at, 'a', 'b')
  await expect
    .poll(() => changes.map((change) => words(change, root)))
    .toEqual(['exchange: a (file), b (file)'])
})

test.each(['inotify', 'poll'] as const)(
  "encoding 'buffer': both names are the exact bytes, %s",
  async (backend) => {
    const root = scratch()
    const bytes = (last: number) => Buffer.from([...Buffer.from(`${root}/n`), last])
    for (const last of [0xfe, 0xff]) writeFileSync(bytes(last), String(last))
    const options = { backend, recursive: true, interval: NEVER, encoding: 'buffer' } as const
    const watcher = new Watcher<Buffer>(root, options)
    onTestFinished(() => watcher.close())
    const changes: Array<Change<Buffer>> = []
    watcher.on('changes', (batch) => changes.push(...batch))
    await watcher.ready
    // Operations are lines of bytes.
    const input = Buffer.concat([Buffer.from('exchange\tn\xfe\tn\xff\n', 'latin1'), Buffer.from('run\n')])
    execFileSync(compile('tree_writer'), [root, scratch(), '0'], { input })
    await watcher.sync()
    const told = changes.filter(({ type }) => type !== 'modify')
    expect(told).toHaveLength(1)
    const [change] = told
    expect(change).toMatchObject({ type: 'exchange', kind: 'file', otherKind: 'file' })
    const names = change?.type === 'exchange' ? [change.path, change.other] : []
    expect(names.toSorted(Buffer.compare)).toEqual([bytes(0xfe), bytes(0xff)])
  },
)
