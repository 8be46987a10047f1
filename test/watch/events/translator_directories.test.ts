import { describe, expect, test } from 'vitest'
import { IN_CREATE, IN_DELETE, IN_ISDIR, IN_MODIFY, IN_MOVED_FROM } from '../../../src/index.ts'
import type { Entry } from '../../../src/watch/scan/entry.ts'
import { file, folder } from '../tree/believed.ts'
import type { Event } from './batches.ts'
import { type Now, World } from './translating.ts'

describe('an exchange', () => {
  const swap = (w: World, cookie: number, first = 0, second = 0): Event[] => [
    ...w.rename('a', 'b', cookie, first),
    ...w.rename('b', 'a', cookie + 1, second),
  ]

  test.each<[string, Record<string, number>, number, number, Now, string[]]>([
    ['of files', { a: 1, b: 2 }, 0, 0, { a: file(2), b: file(1) }, ['exchange file a file b']],
    [
      'of a file and a directory',
      { a: 1, 'b/': 2 },
      0,
      IN_ISDIR,
      { a: folder(2), b: file(1) },
      ['exchange directory a file b'],
    ],
    [
      'of a directory and a file',
      { 'a/': 1, b: 2 },
      IN_ISDIR,
      0,
      { a: file(2), b: folder(1) },
      ['exchange file a directory b'],
    ],
    [
      'of directories',
      { 'a/': 1, 'b/': 2 },
      IN_ISDIR,
      IN_ISDIR,
      { a: folder(2), b: folder(1) },
      ['exchange directory a directory b'],
    ],
  ])('%s', (_, entries, first, second, now, expected) => {
    const w = new World(entries)
    const before = Object.fromEntries(w.tree.entriesOf(w.root))
    expect(w.told([swap(w, 1, first, second)], now)).toEqual(expected)
    const after = Object.fromEntries(w.tree.entriesOf(w.root))
    const inos = ({ a, b }: Record<string, Entry>) => [a?.kind, a?.ino, b?.kind, b?.ino]
    expect(inos(after)).toEqual(inos({ a: before.b as Entry, b: before.a as Entry }))
    expect(w.tree.retired.size).toBe(0)
  })

  test.each([0, IN_ISDIR])('undone at once, the second with flags %i', (flags) => {
    const w = new World(flags === 0 ? { a: 1, b: 2 } : { a: 1, 'b/': 2 })
    const other = flags === 0 ? file(2) : folder(2)
    const kind = other.kind
    const events = [...swap(w, 1, 0, flags), ...swap(w, 3, flags, 0)]
    expect(w.told([events], { a: file(1), b: other })).toEqual([
      `exchange ${kind} a file b`,
      `exchange file a ${kind} b`,
    ])
    expect(w.believed).toEqual(flags === 0 ? ['a', 'b'] : ['a', 'b/'])
  })

  test('and one of the names removed then', () => {
    const w = new World({ a: 1, b: 2 })
    const events = [...swap(w, 1), w.event(IN_DELETE, 'b')]
    expect(w.told([events], { a: file(2), b: null })).toEqual(['exchange file a file b', 'delete file b'])
    expect(w.believed).toEqual(['a'])
  })

  test('across directories', () => {
    const w = new World({ 'd/': 1, 'd/a': 2, 'e/': 3, 'e/b': 4 })
    const events = [...w.rename('d/a', 'e/b', 1), ...w.rename('e/b', 'd/a', 2)]
    expect(w.told([events], { 'd/a': file(4), 'e/b': file(2) })).toEqual(['exchange file d/a file e/b'])
  })
})

describe('a directory on its way', () => {
  test('is listed where it has come to, with what is below it, if events were about names in it meanwhile', () => {
    const w = new World({ 'd/': 1, 'd/f': 2, 'd/e/': 3 })
    const [from, to] = w.rename('d', 'n', 1, IN_ISDIR)
    const meanwhile = [
      w.event(IN_MODIFY, 'd/f'),
      w.event(IN_CREATE, 'd/e/g'),
      ...w.rename('d/f', 'd/h', 2),
      w.event(IN_CREATE, 'x'),
    ]
    expect(w.told([[from], meanwhile, [to]])).toEqual(['create file x', 'rename directory d n'])
    expect(w.takeWork().listed).toEqual(['n', 'n/e'])
  })

  test('that never comes is one delete', () => {
    const w = new World({ 'd/': 1, 'd/f': 2 })
    const events = [w.event(IN_MOVED_FROM | IN_ISDIR, 'd', 1), w.event(IN_MODIFY, 'd/f')]
    expect(w.told([events])).toEqual(['delete directory d'])
    expect([w.believed, [...w.tree.retired]]).toEqual([[], [2]])
  })

  test('and so is all below it', () => {
    const w = new World({ 'd/': 1, 'd/e/': 2, 'd/e/f/': 3 })
    const [d, f] = [w.at('d'), w.at('d/e/f')]
    w.translate([w.event(IN_MOVED_FROM | IN_ISDIR, 'd/e', 1)])
    expect([d, f].map((directory) => w.pending.moves.above(directory) !== undefined)).toEqual([false, true])
    expect(w.words(w.translator.giveUp())).toEqual(['delete directory d/e'])
    expect(w.pending.moves.above(f)).toBeUndefined()
  })

  test('is not given up any more when it has been found elsewhere', () => {
    const w = new World({ 'd/': 1 })
    const directory = w.at('d')
    w.translate([w.event(IN_MOVED_FROM | IN_ISDIR, 'd', 1)])
    expect(w.pending.moves.from(w.root, 'd')).toBeDefined()
    w.tree.detach(directory)
    w.tree.attach(directory, w.root, 'e')
    expect(w.words(w.translator.giveUp())).toEqual([])
    expect([w.believed, w.pending.moves.isEmpty]).toEqual([['e/'], true])
  })

  test.each([
    ['into itself', 'd', 'd/e/n'],
    ['in the place of what it is in', 'd/e/f', 'd'],
  ])('%s: what is believed is out of date, and is looked at', (_, from, to) => {
    const w = new World({ 'd/': 1, 'd/e/': 2, 'd/e/f/': 3 })
    const lost = w.at(from)
    w.told([w.rename(from, to, 1, IN_ISDIR)])
    expect(w.tree.isAttached(lost)).toBe(false)
    expect(w.takeDoubts()).toEqual(expect.arrayContaining([from, to].slice(0, 1)))
  })

  test('what left it before goes where it goes', () => {
    const w = new World({ 'd/': 1, 'd/f': 2 })
    const [away, there] = w.rename('d/f', 'g', 1)
    const [from, to] = w.rename('d', 'n', 2, IN_ISDIR)
    expect(w.told([[away, from, there, to]])).toEqual(['rename file d/f g', 'rename directory d n'])
    expect(w.believed).toEqual(['g', 'n/'])
  })

  test('into another, which follows', () => {
    const w = new World({ 'a/': 1, 'b/': 2, 'b/f': 3 })
    const events = [...w.rename('b', 'a/b', 1, IN_ISDIR), ...w.rename('a', 'c', 2, IN_ISDIR)]
    expect(w.told([[...events, w.event(IN_MODIFY, 'b/f')]])).toEqual([
      'rename directory b a/b',
      'rename directory a c',
      'modify file c/b/f',
    ])
  })

  test('that was not listed yet is listed where it is now', () => {
    const w = new World()
    const made = w.event(IN_CREATE | IN_ISDIR, 'd')
    expect(w.told([[made, ...w.rename('d', 'n', 1, IN_ISDIR)]])).toEqual([
      'create directory d',
      'rename directory d n',
    ])
    expect(w.takeWork().listed).toEqual(['n'])
  })

  test('from one root to another', () => {
    const w = new World({ 'd/': 1 })
    const other = w.tree.addRoot('/t/other', w.mount)
    w.watch(other, 'other')
    expect(w.told([w.rename('d', 'other/d', 1, IN_ISDIR)])).toEqual(['rename directory d other/d'])
    expect(w.tree.topOf(other.unpacked().get('d') as never)).toBe(other)
  })
})

test('an arrival that nobody saw leave, after its cookie was given up, is new', () => {
  const w = new World({ 'd/': 1 })
  const [from, to] = w.rename('d', 'n', 1, IN_ISDIR)
  expect(w.told([[from]])).toEqual(['delete directory d'])
  expect(w.told([[to]], { n: folder(1) })).toEqual(['create directory n'])
})
