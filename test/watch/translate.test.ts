import { expect, test } from 'vitest'
import {
  IN_ATTRIB,
  IN_CLOSE_WRITE,
  IN_CREATE,
  IN_DELETE,
  IN_ISDIR,
  IN_MODIFY,
  IN_MOVED_FROM,
  IN_MOVED_TO,
} from '../../src/index.ts'
import { type Entry, vanished } from '../../src/watch/entries.ts'
import { type Directory, type DirectoryEvent, Translator } from '../../src/watch/translate.ts'
import { inWords } from './support.ts'

const file = (ino: number): Entry => ({ ...vanished('file'), ino: BigInt(ino), mtimeNs: BigInt(ino) })
const folder = (ino: number): Entry => ({ ...file(ino), kind: 'directory' })

interface Fake extends Directory {
  path: string
  ignored: Set<string>
}

/** A directory at /t or beneath it, of which nobody has seen more than is believed. */
function directory(entries: Record<string, Entry> = {}, path = '/t'): Fake {
  const ignored = new Set<string>()
  return {
    path,
    ignored,
    entries: new Map(Object.entries(entries)),
    listed: new Set(),
    pathOf: (name) => `${path}/${name}`,
    ignores: (name) => ignored.has(name),
  }
}

const event = (at: Directory, mask: number, name: string, cookie = 0): DirectoryEvent => {
  return { directory: at, mask, name, cookie }
}
const rename = (from: Directory, a: string, to: Directory, b: string, cookie = 1, flags = 0) => [
  event(from, IN_MOVED_FROM | flags, a, cookie),
  event(to, IN_MOVED_TO | flags, b, cookie),
]

/** Translates batches of events, all of them made when the names stand for `now`; and gives up what is left. */
function told(batches: DirectoryEvent[][], now: Record<string, Entry> = {}): string[] {
  const translator = new Translator()
  const look = (at: Directory, name: string) => now[at.pathOf(name).slice('/t/'.length)]
  const changes = batches.flatMap((events) => translator.translate(events, look))
  changes.push(...translator.giveUp(translator.pending))
  expect(translator.isPending).toBe(false)
  return changes.map((change) => inWords(change, '/t'))
}

test('a rename, its halves in two batches, with others in between', () => {
  const d = directory({ a: file(1), x: file(2) })
  const [from, to] = rename(d, 'a', d, 'b') as [DirectoryEvent, DirectoryEvent]
  const batches = [[from], [event(d, IN_MODIFY, 'x')], [event(d, IN_DELETE, 'x')], [to]]
  expect(told(batches, { b: file(1) })).toEqual(['modify file x', 'delete file x', 'rename file a b'])
  expect([...d.entries]).toEqual([['b', file(1)]])
})

test('two renames whose halves are interleaved are paired by cookie', () => {
  const d = directory({ a: file(1), b: folder(2) })
  const [a, c] = rename(d, 'a', d, 'c', 1) as [DirectoryEvent, DirectoryEvent]
  const [b, e] = rename(d, 'b', d, 'e', 2, IN_ISDIR) as [DirectoryEvent, DirectoryEvent]
  expect(told([[a, b, c, e]])).toEqual(['rename file a c', 'rename directory b e'])
})

test('from one root to another', () => {
  const [one, two] = [directory({ a: file(1) }, '/t/one'), directory({}, '/t/two')]
  expect(told([rename(one, 'a', two, 'b')])).toEqual(['rename file one/a two/b'])
  expect([one.entries.size, two.entries.get('b')]).toEqual([0, file(1)])
})

test('one inode watched as two roots: each has its rename', () => {
  const [one, two] = [directory({ a: file(1) }, '/t/one'), directory({ a: file(1) }, '/t/two')]
  const events = [...rename(one, 'a', one, 'b'), ...rename(two, 'a', two, 'b')]
  const order = [events[0], events[2], events[1], events[3]] as DirectoryEvent[]
  expect(told([order])).toEqual(['rename file one/a one/b', 'rename file two/a two/b'])
})

test('out of the tree is a delete, into it a create', () => {
  const d = directory({ a: file(1) })
  expect(told([[event(d, IN_MOVED_FROM, 'a', 1)], [event(d, IN_MOVED_TO, 'b', 2)]], { b: file(7) })).toEqual([
    'create file b',
    'delete file a',
  ])
})

test('into the tree onto a name that is there: modify; another kind: delete and create', () => {
  const d = directory({ a: file(1), b: file(2) })
  const events = [event(d, IN_MOVED_TO, 'a', 1), event(d, IN_MOVED_TO | IN_ISDIR, 'b', 2)]
  expect(told([events], { a: file(7), b: folder(8) })).toEqual([
    'modify file a',
    'delete file b',
    'create directory b',
  ])
})

test('a name that left and comes back from outside is deleted before it is created', () => {
  const d = directory({ a: file(1) })
  const events = [event(d, IN_MOVED_FROM, 'a', 1), event(d, IN_MOVED_TO, 'a', 2)]
  expect(told([events], { a: file(1) })).toEqual(['delete file a', 'create file a'])
  expect(d.entries.get('a')).toEqual(file(1))
})

test.each([
  ['created', IN_CREATE, ['delete file a', 'create file a']],
  ['made a directory', IN_CREATE | IN_ISDIR, ['delete file a', 'create directory a']],
])('a name that left and is %s again is deleted first', (_, mask, expected) => {
  const d = directory({ a: file(1) })
  expect(told([[event(d, IN_MOVED_FROM, 'a', 1), event(d, mask, 'a')]])).toEqual(expected)
})

test('a write that was queued behind the first half of its rename comes before it', () => {
  const d = directory({ a: file(1) })
  const [from, to] = rename(d, 'a', d, 'b') as [DirectoryEvent, DirectoryEvent]
  expect(told([[from, event(d, IN_MODIFY, 'a'), to]], { b: file(1) })).toEqual([
    'modify file a',
    'rename file a b',
  ])
})

test('a to b to c is two renames; there and back again too', () => {
  const d = directory({ a: file(1) })
  expect(told([[...rename(d, 'a', d, 'b', 1), ...rename(d, 'b', d, 'c', 2)]], { c: file(1) })).toEqual([
    'rename file a b',
    'rename file b c',
  ])
  expect(told([[...rename(d, 'c', d, 'b', 3), ...rename(d, 'b', d, 'c', 4)]], { c: file(1) })).toEqual([
    'rename file c b',
    'rename file b c',
  ])
  expect([...d.entries.keys()]).toEqual(['c'])
})

test('over a file: replaced', () => {
  const d = directory({ a: file(1), b: file(2) })
  expect(told([rename(d, 'a', d, 'b')], { b: file(1) })).toEqual(['rename file a b replaced'])
})

test('over a file, though a new one has the old name and the freed inode number', () => {
  const d = directory({ a: file(1), b: file(2) })
  const reborn = { ...file(2), mtimeNs: 99n }
  expect(told([rename(d, 'a', d, 'b')], { b: file(1), a: reborn })).toEqual(['rename file a b replaced'])
})

test('onto itself, which a listing has shown there already: nothing was replaced', () => {
  const d = directory({ a: file(1), b: file(1) })
  d.listed.add('b')
  expect(told([rename(d, 'a', d, 'b')], { b: file(1) })).toEqual(['rename file a b'])
})

test('an exchange, and one undone at once', () => {
  const swap = (at: Directory, cookie: number) => [
    ...rename(at, 'a', at, 'b', cookie),
    ...rename(at, 'b', at, 'a', cookie + 1, IN_ISDIR),
  ]
  const unswap = (at: Directory, cookie: number) => [
    ...rename(at, 'a', at, 'b', cookie, IN_ISDIR),
    ...rename(at, 'b', at, 'a', cookie + 1),
  ]
  const d = directory({ a: file(1), b: folder(2) })
  expect(told([swap(d, 1)], { a: folder(2), b: file(1) })).toEqual([
    'rename file a b',
    'rename directory b a',
  ])
  expect(Object.fromEntries(d.entries)).toEqual({ a: folder(2), b: file(1) })

  const e = directory({ a: file(1), b: folder(2) })
  expect(told([[...swap(e, 1), ...unswap(e, 3)]], { a: file(1), b: folder(2) })).toEqual([
    'rename file a b',
    'rename directory b a',
    'rename directory a b',
    'rename file b a',
  ])
  expect(Object.fromEntries(e.entries)).toEqual({ a: file(1), b: folder(2) })
})

test('over a file and back is no exchange', () => {
  const d = directory({ a: file(1), b: file(2) })
  expect(told([[...rename(d, 'a', d, 'b', 1), ...rename(d, 'b', d, 'a', 2)]], { a: file(1) })).toEqual([
    'rename file a b replaced',
    'rename file b a',
  ])
  expect([...d.entries.keys()]).toEqual(['a'])
})

test('O_TMPFILE: a name that never exists is not spoken of', () => {
  const d = directory()
  expect(told([[event(d, IN_MODIFY, '#123'), event(d, IN_CREATE, 'a')]], { a: file(1) })).toEqual([
    'create file a',
  ])
  expect([...d.entries.keys()]).toEqual(['a'])
})

test('what is known already is not created again', () => {
  const d = directory({ a: file(1) })
  expect(told([[event(d, IN_CREATE, 'a'), event(d, IN_MOVED_TO, 'a', 5)]], { a: file(1) })).toEqual([])
})

test('what is unknown is not deleted and does not depart', () => {
  const d = directory()
  expect(told([[event(d, IN_DELETE, 'a'), event(d, IN_MOVED_FROM, 'b', 1)]])).toEqual([])
})

test('created and gone before it could be seen: of the kind that the event says', () => {
  const d = directory()
  expect(told([[event(d, IN_CREATE | IN_ISDIR, 'a'), event(d, IN_DELETE | IN_ISDIR, 'a')]])).toEqual([
    'create directory a',
    'delete directory a',
  ])
})

test('what is seen later is not taken for what the event was about', () => {
  // Made as a file, removed, made as a directory: seen is the directory, three times.
  const d = directory()
  const events = [
    event(d, IN_CREATE, 'a'),
    event(d, IN_MODIFY, 'a'),
    event(d, IN_DELETE, 'a'),
    event(d, IN_CREATE | IN_ISDIR, 'a'),
  ]
  expect(told([events], { a: folder(1) })).toEqual([
    'create file a',
    'modify file a',
    'delete file a',
    'create directory a',
  ])
  // Two kinds that an event does not tell apart.
  const link: Entry = { ...file(2), kind: 'symlink' }
  const again = [event(d, IN_CREATE, 'b'), event(d, IN_DELETE, 'b'), event(d, IN_CREATE, 'b')]
  expect(told([again], { b: link })).toEqual(['create file b', 'delete file b', 'create symlink b'])
})

test('what was seen of a name too early is replaced all the same when it comes', () => {
  const d = directory({ a: file(1) })
  expect(told([[event(d, IN_CREATE, 'b')], rename(d, 'a', d, 'b')], { b: file(1) })).toEqual([
    'create file b',
    'rename file a b replaced',
  ])
})

test('ignored on either side of a rename', () => {
  const d = directory({ a: file(1), b: file(2) })
  d.ignored.add('x')
  expect(told([rename(d, 'x', d, 'c', 1), rename(d, 'a', d, 'x', 2)], { c: file(3), x: file(1) })).toEqual([
    'create file c',
    'delete file a',
  ])
  expect(told([[event(d, IN_CREATE, 'x'), event(d, IN_MODIFY, 'x')]], { x: file(1) })).toEqual([])
  expect([...d.entries.keys()]).toEqual(['b', 'c'])
})

test('neighbours of one type and path are one, with all their masks; others are not', () => {
  const d = directory({ a: file(1), b: file(2) })
  const events = [
    event(d, IN_MODIFY, 'a'),
    event(d, IN_CLOSE_WRITE, 'a'),
    event(d, IN_MODIFY, 'b'),
    event(d, IN_MODIFY, 'a'),
    event(d, IN_ATTRIB, 'a'),
  ]
  const changes = new Translator().translate(events, () => undefined)
  expect(changes.map((change) => [inWords(change, '/t'), 'mask' in change && change.mask])).toEqual([
    ['modify file a', IN_MODIFY | IN_CLOSE_WRITE],
    ['modify file b', IN_MODIFY],
    ['modify file a', IN_MODIFY],
    ['attrib file a', IN_ATTRIB],
  ])
})

test('what has left makes way for what a listing shows at its name', () => {
  const d = directory({ a: file(1), b: file(2) })
  const translator = new Translator()
  translator.translate([event(d, IN_MOVED_FROM, 'a', 1), event(d, IN_MOVED_FROM, 'b', 2)], () => undefined)
  const changes = translator.makeWay(d, new Map([['a', file(3)]]))
  expect(changes.map((change) => inWords(change, '/t'))).toEqual(['delete file a'])
  expect(translator.pending.map(({ name }) => name)).toEqual(['b'])
})

test('100,000 files moved out and spoken of again in one batch take no time to speak of', () => {
  const count = 100_000
  const d = directory()
  for (let i = 0; i < count; i++) d.entries.set(`f${i}`, file(i + 1))
  const out = Array.from({ length: count }, (_, i) => event(d, IN_MOVED_FROM, `f${i}`, i + 1))
  const again = Array.from({ length: count }, (_, i) => event(d, IN_CREATE, `f${i}`))
  const start = performance.now()
  expect(told([[...out, ...again]])).toHaveLength(2 * count)
  expect(performance.now() - start).toBeLessThan(5000)
})
