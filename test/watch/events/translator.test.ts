import { describe, expect, test } from 'vitest'
import {
  IN_ATTRIB,
  IN_CLOSE_WRITE,
  IN_CREATE,
  IN_DELETE,
  IN_ISDIR,
  IN_MODIFY,
  IN_MOVED_FROM,
  IN_MOVED_TO,
} from '../../../src/index.ts'
import type { Entry } from '../../../src/watch/scan/entry.ts'
import { Directory } from '../../../src/watch/tree/directory.ts'
import { entry, file, folder, seen } from '../tree/believed.ts'
import { World } from './translating.ts'

describe('names', () => {
  test('O_TMPFILE: a name that never exists is not spoken of, but doubted', () => {
    const w = new World()
    const events = [w.event(IN_MODIFY, '#123'), w.event(IN_CREATE, 'a')]
    expect(w.told([events], { a: file(1) })).toEqual(['create file a'])
    expect([w.believed, w.takeDoubts()]).toEqual([['a'], ['#123']])
  })

  test('a file that is written by its new name before it is told that it has changed places with a directory', () => {
    const w = new World({ f: 1, 'd/': 2 })
    const now = { f: folder(2), d: file(1) }
    expect(w.told([[w.event(IN_MODIFY, 'd')]], now)).toEqual([])
    const exchange = [
      w.event(IN_MOVED_FROM, 'f', 1),
      w.event(IN_MOVED_TO, 'd', 1),
      w.event(IN_MOVED_FROM | IN_ISDIR, 'd', 2),
      w.event(IN_MOVED_TO | IN_ISDIR, 'f', 2),
    ]
    expect(w.told([exchange], now)).toEqual(['exchange file d directory f', 'modify file d'])
  })

  test('what may have been written is not told of a directory that has gone meanwhile', () => {
    const w = new World({ 'd/': 1, 'd/f': 2 })
    const directory = w.at('d')
    const tell = () => w.translator.tellWritten(directory, ['f', 'never there']).map(({ path }) => path)
    expect(tell()).toEqual(['/t/d/f'])
    w.told([[w.event(IN_DELETE | IN_ISDIR, 'd')]])
    expect(tell()).toEqual([])
  })

  test('what is known already is not created again', () => {
    const w = new World({ a: 1, 'd/': 2 })
    const events = [w.event(IN_CREATE, 'a'), w.event(IN_CREATE | IN_ISDIR, 'd')]
    expect(w.told([events], { a: file(1), d: folder(2) })).toEqual([])
    expect(w.takeWork().listed).toEqual([])
  })

  test('what is unknown is not deleted and does not depart', () => {
    const w = new World()
    expect(w.told([[w.event(IN_DELETE, 'a'), w.event(IN_MOVED_FROM, 'b', 1)]])).toEqual([])
  })

  test('created and gone before it could be seen: of the kind that the event says', () => {
    const w = new World()
    const events = [w.event(IN_CREATE | IN_ISDIR, 'a'), w.event(IN_DELETE | IN_ISDIR, 'a')]
    expect(w.told([events], { a: null })).toEqual(['create directory a', 'delete directory a'])
    expect(w.told([[w.event(IN_CREATE, 'f')]], { f: null })).toEqual(['create file f'])
  })

  test('a new directory is to be listed; one within a root that is not recursive is a name', () => {
    const w = new World()
    expect(w.told([[w.event(IN_CREATE | IN_ISDIR, 'd')]], { d: folder(7) })).toEqual(['create directory d'])
    expect([w.takeWork().listed, w.at('d').isListed]).toEqual([['d'], false])
    const flat = new World()
    flat.rules.recursive = false
    expect(flat.told([[flat.event(IN_CREATE | IN_ISDIR, 'd')]], { d: folder(7) })).toEqual([
      'create directory d',
    ])
    expect([flat.takeWork().listed, flat.tree.entriesOf(flat.root).get('d')]).toEqual([[], folder(7)])
  })

  test('the removal of a directory takes its watch and all below', () => {
    const w = new World({ 'd/': 1, 'd/e/': 2, 'd/e/f': 3 })
    expect(w.told([[w.event(IN_DELETE | IN_ISDIR, 'd')]])).toEqual(['delete directory d'])
    expect([w.believed, [...w.tree.retired]]).toEqual([[], [2, 3]])
  })

  test('of no UTF-8 are two, though as text they are one', () => {
    const w = new World()
    const events = [
      w.event(IN_CREATE, 'a\udcff'),
      w.event(IN_CREATE, 'a\udcfe'),
      w.event(IN_DELETE, 'a\udcff'),
    ]
    expect(w.told([events])).toEqual(['create file a\udcff', 'create file a\udcfe', 'delete file a\udcff'])
    expect(w.believed).toEqual(['a\udcfe'])
  })
})

describe('what is seen', () => {
  test('later is not taken for what the event was about', () => {
    // A file is made and removed, and a directory made in its place: each look sees the directory.
    const w = new World()
    const events = [
      w.event(IN_CREATE, 'a'),
      w.event(IN_MODIFY, 'a'),
      w.event(IN_DELETE, 'a'),
      w.event(IN_CREATE | IN_ISDIR, 'a'),
    ]
    expect(w.told([events], { a: folder(1) })).toEqual([
      'create file a',
      'modify file a',
      'delete file a',
      'create directory a',
    ])
  })

  test('tells kinds that an event does not tell apart, of the latest alone', () => {
    const w = new World()
    const events = [w.event(IN_CREATE, 'b'), w.event(IN_DELETE, 'b'), w.event(IN_CREATE, 'b')]
    expect(w.told([events], { b: entry('symlink', 2) })).toEqual([
      'create file b',
      'delete file b',
      'create symlink b',
    ])
  })

  test('too early is replaced all the same when it comes', () => {
    const w = new World({ a: 1 })
    expect(w.told([[w.event(IN_CREATE, 'b')], w.rename('a', 'b')], { b: file(1) })).toEqual([
      'create file b',
      'rename file a b replaced',
    ])
  })

  test('by a poll as well: what others have written since is told with an attrib', () => {
    const w = new World({ a: seen('file', 1), b: seen('file', 2) })
    w.mount.backend = 'inotify+poll'
    const now = { a: seen('file', 1, { size: 9 }), b: seen('file', 2, { mode: 0o600 }) }
    const changes = w.translate([w.event(IN_ATTRIB, 'a'), w.event(IN_ATTRIB, 'b')], now, true)
    expect(w.words(changes)).toEqual(['modify file a', 'attrib file b'])
    expect([...w.tree.entriesOf(w.root).values()]).toEqual([now.a, now.b])
  })

  const WRITTEN = seen('file', 1, { size: 9 })

  test.each<[what: string, now: Entry, told: string[]]>([
    ['a write', WRITTEN, ['modify file b']],
    ['another file', seen('file', 2), ['modify file b']],
    ['the file as it was', seen('file', 1, { ctime: 9 }), []],
  ])(
    'by a poll as well: %s that is seen behind a rename is told with it, or nobody would',
    (_, now, told) => {
      const w = new World({ a: seen('file', 1) })
      w.mount.backend = 'inotify+poll'
      const changes = w.translate(w.rename('a', 'b'), { a: null, b: now }, true)
      expect(w.words(changes)).toEqual(['rename file a b', ...told])
      expect(w.tree.entriesOf(w.root).get('b')).toEqual(now)
    },
  )

  test('by a poll as well: a write that is told and not seen is not told again where the file has moved to', () => {
    const w = new World({ a: seen('file', 1) })
    w.mount.backend = 'inotify+poll'
    const events = [w.event(IN_MODIFY, 'a'), ...w.rename('a', 'b')]
    const changes = w.translate(events, { a: null, b: WRITTEN }, true)
    expect(w.words(changes)).toEqual(['modify file a', 'rename file a b'])
  })

  test('what a look is ahead of is told, and taken over', () => {
    const w = new World({ a: seen('file', 1) })
    const believed = w.tree.entriesOf(w.root).get('a') as Entry
    const tell = (now: Entry) => w.words(w.translator.takeSeen(w.root, 'a', believed, now))
    expect([tell(WRITTEN), tell(WRITTEN)]).toEqual([['modify file a'], []])
  })
})

describe('links', () => {
  test('that are followed are told by whoever looks where they lead', () => {
    const w = new World()
    w.rules.followsLinks = true
    const events = [w.event(IN_CREATE, 'l'), w.event(IN_CREATE, 'm')]
    expect(w.told([events], { l: entry('symlink', 1), m: file(2) })).toEqual(['create file m'])
    expect([w.believed, w.takeWork().looked]).toEqual([['m'], ['l']])
  })
})

describe('writes', () => {
  test('neighbours of one type and path are one, with all their masks; others are not', () => {
    const w = new World({ a: 1, b: 2 })
    const changes = w.translate([
      w.event(IN_MODIFY, 'a'),
      w.event(IN_CLOSE_WRITE, 'a'),
      w.event(IN_MODIFY, 'b'),
      w.event(IN_MODIFY, 'a'),
      w.event(IN_ATTRIB, 'a'),
    ])
    expect(changes.map((change, i) => [w.words(changes)[i], 'mask' in change && change.mask])).toEqual([
      ['modify file a', IN_MODIFY | IN_CLOSE_WRITE],
      ['modify file b', IN_MODIFY],
      ['modify file a', IN_MODIFY],
      ['attrib file a', IN_ATTRIB],
    ])
  })

  test('a directory that could not be read is listed again when its mode changes', () => {
    const w = new World({ 'd/': 1, 'e/': 2 })
    w.mount.uncover(w.at('d'), new Error('EACCES'))
    const events = ['d', 'e'].map((name) => w.event(IN_ATTRIB | IN_ISDIR, name))
    expect(w.told([events])).toEqual(['attrib directory d', 'attrib directory e'])
    expect(w.takeWork().listed).toEqual(['d'])
  })
})

describe('events that a listing may be ahead of', () => {
  test('raise a doubt of the name, until all that were queued before have been told', () => {
    const w = new World({ a: 1, b: 2, c: 3 })
    w.pending.scans.add(w.root)
    w.translate([w.event(IN_DELETE, 'a'), w.event(IN_MODIFY, 'b')])
    expect(w.takeDoubts()).toEqual(['a'])
    const release = w.pending.scans.hold()
    w.translate([w.event(IN_DELETE, 'b')])
    expect(w.takeDoubts()).toEqual(['b'])
    release()
    w.translate([w.event(IN_DELETE, 'c')])
    expect([w.takeDoubts(), w.pending.scans.isEmpty]).toEqual([[], true])
  })

  test('and longer, if it was listed again meanwhile', () => {
    const w = new World({ a: 1 })
    w.pending.scans.add(w.root)
    const release = w.pending.scans.hold()
    w.pending.scans.add(w.root)
    release()
    expect(w.pending.scans.has(w.root)).toBe(true)
    w.pending.scans.hold()()
    expect(w.pending.scans.has(w.root)).toBe(false)
  })

  test('of a whole mount', () => {
    const w = new World({ 'd/': 1, 'd/a': 2 })
    w.pending.scans.add(w.mount)
    w.translate([w.event(IN_DELETE, 'd/a')])
    expect(w.takeDoubts()).toEqual(['d/a'])
  })
})

describe('an event of another kind than what is believed to have the name', () => {
  test.each([
    ['is removed', IN_DELETE],
    ['is made', IN_CREATE],
    ['is written', IN_MODIFY],
    ['leaves', IN_MOVED_FROM],
  ])('that %s raises a doubt, and takes nothing away', (_, mask) => {
    const w = new World({ 'd/': 1, 'd/x': 2, f: 3 })
    expect(w.told([[w.event(mask, 'd', 1), w.event(mask | IN_ISDIR, 'f', 2)]])).toEqual([])
    expect([w.believed, w.takeDoubts()]).toEqual([
      ['d/', 'd/x', 'f'],
      ['d', 'f'],
    ])
  })
})

describe('from outside', () => {
  test('out of the tree is a delete, into it a create', () => {
    const w = new World({ a: 1 })
    const batches = [[w.event(IN_MOVED_FROM, 'a', 1)], [w.event(IN_MOVED_TO, 'b', 2)]]
    expect(w.told(batches, { b: file(7) })).toEqual(['create file b', 'delete file a'])
  })

  test('onto a name that is there: modify; another kind: delete and create', () => {
    const w = new World({ a: 1, b: 2 })
    const events = [w.event(IN_MOVED_TO, 'a', 1), w.event(IN_MOVED_TO | IN_ISDIR, 'b', 2)]
    expect(w.told([events], { a: file(7), b: folder(8) })).toEqual([
      'modify file a',
      'delete file b',
      'create directory b',
    ])
    expect(w.tree.entriesOf(w.root).get('b')).toBeInstanceOf(Directory)
  })

  test('a directory onto one that is believed there: the listing will show', () => {
    const w = new World({ 'd/': 1 })
    expect(w.told([[w.event(IN_MOVED_TO | IN_ISDIR, 'd', 1)]], { d: folder(8) })).toEqual([])
    expect(w.takeWork().listed).toEqual(['d'])
  })

  test('what a listing has shown already is not told again, unless an event has spoken of it since', () => {
    const w = new World({ a: 1 })
    w.pending.scans.add(w.root)
    const arrival = () => w.told([[w.event(IN_MOVED_TO, 'a', 5)]], { a: file(1) })
    expect(arrival()).toEqual([])
    expect(arrival()).toEqual(['modify file a'])
  })
})

describe('names in another case', () => {
  // Only the other events are told at once; a listing tells the rest.
  test.each([
    [IN_MODIFY, 'READme', ['modify file ReadMe']],
    [IN_ATTRIB, 'readme', ['attrib file ReadMe']],
    [IN_ATTRIB | IN_ISDIR, 'SUB', ['attrib directory Sub']],
    [IN_DELETE, 'readme', []],
    [IN_MOVED_FROM, 'README', []],
  ])('of a mount of which that is not known: %i %s', (mask, name, told) => {
    const w = new World({ ReadMe: 1, 'Sub/': 2 })
    expect(w.told([[w.event(mask, name)]])).toEqual(told)
    expect([...w.pending.rechecks.begin()]).toEqual([[w.root, undefined]])
  })

  test.each([IN_CREATE, IN_MOVED_TO])(
    'what is new has the name that it was given, but for such a mount: %i',
    (mask) => {
      const w = new World({ ReadMe: 1 })
      expect(w.told([[w.event(mask, 'readme')]], { readme: file(2) })).toEqual(['create file readme'])
      w.mount.anyCase = true
      expect(w.told([[w.event(mask, 'New'), w.event(mask, 'README')]], { New: file(3) })).toEqual([])
      expect([...w.pending.rechecks.begin()]).toEqual([[w.root, undefined]])
      expect(w.told([[w.event(mask, 'new')]], { new: file(3) })).toEqual(['create file new'])
    },
  )

  test('what is ignored is nothing else in another case', () => {
    const w = new World({ ReadMe: 1 })
    w.rules.hidden.add('readme')
    w.told([[w.event(IN_DELETE, 'readme')]])
    expect(w.pending.rechecks.isEmpty).toBe(true)
  })
})
