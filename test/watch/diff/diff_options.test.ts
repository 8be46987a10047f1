import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { IN_ISDIR, IN_MOVED_FROM } from '../../../src/index.ts'
import { listingsIn } from '../../../src/watch/scan/listing.ts'
import { BOUNDARY, ROOT_INO, recordsOf, VANISHED, walkOf } from '../scan/records.ts'
import { entry, file, folder, seen } from '../tree/believed.ts'
import { planOf, Walked } from './reconciling.ts'

const { EACCES, ENOENT, ENOSPC } = constants.errno

test('records are read as they were made', () => {
  const records = recordsOf([
    {
      id: 0,
      name: '',
      ino: 2 ** 53 - 1,
      wd: 7,
      mountId: 33,
      device: [8, 1],
      mode: 0o40755,
      uid: 2 ** 32 - 1,
    },
    {
      id: 1,
      parent: 0,
      name: 'gr\udcff',
      error: -13,
      wd: -28,
      flags: BOUNDARY | VANISHED,
      entries: [
        ['a', file(1)],
        ['d', folder(2)],
        ['b', entry('symlink', 3)],
      ],
    },
  ])
  const [first, second] = [...listingsIn(records)]
  expect(first).toMatchObject({
    id: 0,
    parent: undefined,
    wd: 7,
    error: 0,
    isBoundary: false,
    isMoving: false,
    mountId: 33,
    name: '',
    filesCount: 0,
    packedFiles: '',
    ino: 2 ** 53 - 1,
    identity: `33 8:1 ${2 ** 53 - 1}`,
    owner: { mode: 0o40755, uid: 2 ** 32 - 1, gid: 0 },
  })
  expect(second).toMatchObject({ id: 1, parent: 0, wd: -28, error: -13, isBoundary: true, isMoving: true })
  expect([second?.name, second?.filesCount]).toEqual(['gr\udcff', 2])
  expect([...(second?.entries().keys() ?? [])]).toEqual(['a', 'b', 'd'])
  expect([...(second?.subdirectories().keys() ?? [])]).toEqual(['d'])
})

const before = planOf({ 'd/': 1, 'd/a': 2, b: 3 })

function walked(isPolled = false): Walked {
  const it = new Walked(isPolled)
  it.find(before)
  it.takeDoubts()
  return it
}

test('names that events have told of since are left to them', () => {
  const it = walked()
  const eventNames = new Map([[it.root, new Set(['b', 'new', 'd'])]])
  expect(it.find(planOf({ new: 5 }), { eventNames })).toEqual([])
  expect(it.believed).toEqual(['b', 'd/', 'd/a'])
})

test('a directory that may not be read any more keeps what is believed to be in it', () => {
  const it = walked()
  const [root, d] = walkOf(before, 1000) as [never, object]
  expect(
    it.take([root, { ...(d as { id: 1; name: 'd' }), parent: 0, error: -EACCES, entries: [] }], [it.root]),
  ).toEqual([])
  expect(it.believed).toEqual(['b', 'd/', 'd/a'])
  expect([...it.mount.uncovered.values()].map((error) => error.message)).toEqual([
    expect.stringContaining('/t/d'),
  ])
})

test('one that went while it was looked at is doubted', () => {
  const it = walked()
  const [root] = walkOf(before, 1000) as [never]
  expect(it.take([root, { id: 1, parent: 0, name: 'd', error: -ENOENT }], [it.root])).toEqual([])
  expect([it.takeDoubts(), it.believed]).toEqual([['d'], ['b', 'd/', 'd/a']])
})

test('so is one where another mount begins, of which nobody knew', () => {
  const it = walked()
  const [root] = walkOf(before, 1000) as [never]
  expect(it.take([root, { id: 1, parent: 0, name: 'd', flags: BOUNDARY, mountId: 2 }], [it.root])).toEqual([])
  expect([new Set(it.takeDoubts()), it.believed]).toEqual([new Set(['d']), ['b', 'd/', 'd/a']])
})

test('a root that is not there tells nothing but that', () => {
  const it = walked()
  expect(it.take([{ id: 0, name: '', error: -ENOENT }], [it.root])).toEqual([])
  expect(it.believed).toEqual(['b', 'd/', 'd/a'])
})

test('without a watch to be had it is not covered, and polled where that is asked for', () => {
  for (const fallsBackToPolling of [false, true]) {
    const it = walked()
    it.fallsBackToPolling = fallsBackToPolling
    const d = it.at('d')
    const [root] = walkOf(before, 1000) as [never]
    const full = { id: 1, parent: 0, name: 'd', ino: 1, wd: -ENOSPC, entries: [['a', file(2)]] as never }
    expect(it.take([root, full], [it.root])).toEqual([])
    expect([d.wd, it.mount.uncovered.has(d), it.mount.leftover.has(d)]).toEqual([0, true, fallsBackToPolling])
  }
})

test('by name alone: a root that came back has others in it', () => {
  const it = walked()
  const d = it.at('d')
  expect(it.words(it.find(planOf({ 'd/': 11, 'd/a': 12, b: 13 }), { matchByName: true }))).toEqual([
    'modify file b',
    'modify file d/a',
  ])
  expect([it.at('d'), d.ino]).toEqual([d, 11])
})

test('what has changed since then is a modify, or an attrib of a directory', () => {
  const changed = { ctimeMs: 2e6 }
  const now = planOf({
    'd/': seen('directory', 1, { ...changed, ctime: 7 }),
    'd/a': seen('file', 2, changed),
    b: 3,
  })
  expect(walked().words(walked().find(now))).toEqual(['attrib directory d', 'modify file d/a'])
})

test('polls compare every name with what was seen before', () => {
  const it = walked(true)
  const now = planOf({
    'd/': seen('directory', 1, { mode: 0o700 }),
    'd/a': seen('file', 2, { mode: 0o600 }),
    b: seen('file', 3, { size: 9 }),
  })
  expect(it.words(it.find(now)).toSorted()).toEqual([
    'attrib directory d',
    'attrib file d/a',
    'modify file b',
  ])
  expect(it.find(now)).toEqual([])
})

test('renamed and written, or with another mode', () => {
  const it = walked(true)
  const now = planOf({ 'd/': 1, x: seen('file', 2, { size: 9 }), 'd/y': seen('file', 3, { mode: 0o600 }) })
  expect(it.words(it.find(now))).toEqual([
    'rename file d/a x',
    'modify file x',
    'rename file b d/y',
    'attrib file d/y',
  ])
})

test('what left a name is gone when another is found there', () => {
  const it = walked()
  const events = [[ROOT_INO + 1000, IN_MOVED_FROM | IN_ISDIR, 'd', 1]] as const
  expect(it.translate(events)).toEqual([])
  expect(it.words(it.find(planOf({ d: 9, b: 3 })))).toEqual(['delete directory d', 'create file d'])
  expect(it.words(it.translator.giveUp())).toEqual([])
})

test('a link of which a poll does not know where it leads is looked at by itself', () => {
  const now = planOf({ 'd/': 1, 'd/a': 2, b: 3, l: seen('symlink', 4) })
  const it = walked(true)
  it.rules.followsLinks = true
  expect([it.find(now), it.takeWork().looked]).toEqual([[], ['l']])
  const other = walked()
  other.rules.followsLinks = true
  expect(other.words(other.find(now))).toEqual(['create symlink l'])
})

test('what was listed may be told by events still; what was polled is not', () => {
  const it = walked()
  // The mount stands for all that was new in it when it was listed first.
  expect([...it.pending.scans.all]).toEqual([it.mount])
  it.find(before)
  expect([...it.pending.scans.all]).toEqual([it.mount, it.root, it.at('d')])
  expect(walked(true).pending.scans.isEmpty).toBe(true)
})
