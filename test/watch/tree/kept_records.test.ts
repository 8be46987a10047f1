import { expect, test } from 'vitest'
import type { Entry } from '../../../src/watch/scan/entry.ts'
import { type Listing, listingsIn } from '../../../src/watch/scan/listing.ts'
import { unpackString } from '../../../src/watch/scan/packed_entries.ts'
import { KeptRecords } from '../../../src/watch/tree/kept_records.ts'
import { type RecordSpec, recordsOf } from '../scan/records.ts'

const file = (ino: number): Entry => ({ kind: 'file', ino })
const folder = (ino: number): Entry => ({ kind: 'directory', ino })

const ONE: RecordSpec = {
  id: 9,
  parent: 4,
  name: 'name',
  ino: 77,
  wd: 12,
  mountId: 3,
  device: [8, 1],
  mode: 0o40755,
  uid: 1000,
  gid: 100,
  entries: [
    ['f', file(5)],
    ['longer.txt', file(2 ** 40)],
  ],
}

/** Names and numbers of every length that begins or ends within a word, and beyond 32 bits. */
const MANY: RecordSpec[] = [
  ONE,
  { ...ONE, name: 'x', ino: 2 ** 32 - 1, entries: [] },
  { ...ONE, name: 'xy', ino: 2 ** 32 },
  { ...ONE, name: 'xyz', ino: 2 ** 53 - 1, uid: 0 },
  { ...ONE, name: 'gr\u00fc', ino: 2 ** 31 },
  { ...ONE, name: '\udcff', wd: 2 ** 31 - 1 },
  { ...ONE, name: 'n'.repeat(255), parent: 0, entries: [['d', folder(6)]] },
  // Like directories of packages: entries of such a directory are kept if the directory is.
  {
    ...ONE,
    name: 'area',
    entries: Array.from({ length: 1000 }, (_, i) => [`directory-${i}`, folder(i + 1)]),
  },
  {
    ...ONE,
    name: 'both',
    entries: [
      ['d', folder(6)],
      ['f', file(7)],
    ],
  },
]

const listed = (...specs: RecordSpec[]): Listing[] => [...listingsIn(recordsOf(specs))]

function keep(records: KeptRecords, ...specs: RecordSpec[]): number[] {
  return listed(...specs).map((listing) => records.keep(listing) as number)
}

const filesOf = (packed: string) =>
  [...unpackString(packed)].map(([name, { kind, ino }]) => [name, { kind, ino }])

test('what was kept is as it came', () => {
  const records = new KeptRecords()
  const places = keep(records, ...MANY)
  records.seal()
  expect(new Set(places).size).toBe(MANY.length)
  for (const [i, place] of places.entries()) {
    const { parent, wd, ino, name, entries } = MANY[i] as Required<RecordSpec>
    expect([
      records.parentAt(place),
      records.wdAt(place),
      records.inoAt(place),
      records.nameAt(place),
    ]).toEqual([parent, wd, ino, name])
    expect(filesOf(records.filesAt(place))).toEqual([...entries].filter(([, { kind }]) => kind === 'file'))
  }
})

test('another walk has found the same, whatever the numbers of its listings', () => {
  const records = new KeptRecords()
  const places = keep(records, ...MANY)
  const again = listed(...MANY.map((spec) => ({ ...spec, id: 100, parent: 50 })))
  for (const [i, place] of places.entries())
    for (const [j, listing] of again.entries())
      expect(records.isSame(place, listing), `${i} ${j}`).toBe(i === j)
})

test.each<[string, Partial<RecordSpec>]>([
  ['watch', { wd: 13 }],
  ['name', { name: 'nama' }],
  ['length of the name', { name: 'nam' }],
  ['inode number', { ino: 78 }],
  ['upper half of the inode number', { ino: 77 + 2 ** 32 }],
  ['mount', { mountId: 4 }],
  ['mode', { mode: 0o40700 }],
  ['owner', { uid: 0 }],
  ['group', { gid: 0 }],
  ['file', { entries: [['f', file(5)]] }],
  [
    'inode number of a file',
    {
      entries: [
        ['f', file(6)],
        ['longer.txt', file(2 ** 40)],
      ],
    },
  ],
  ['subdirectory', { entries: [...(ONE.entries ?? []), ['d', folder(6)]] }],
])('one with another %s is not the same', (_, other) => {
  const records = new KeptRecords()
  const [itself, changed] = listed(ONE, { ...ONE, ...other }) as [Listing, Listing]
  const place = records.keep(itself) as number
  expect(records.isSame(place, changed)).toBe(false)
  // The comparison also differs the other way round.
  const others = new KeptRecords()
  expect(others.isSame(others.keep(changed) as number, itself)).toBe(false)
  expect(records.isSame(place, itself)).toBe(true)
})

test('each bit of what is told counts', () => {
  const records = new KeptRecords()
  const bytes = recordsOf([{ ...ONE, entries: [...(ONE.entries ?? []), ['d', folder(6)]] }])
  const read = () => [...listingsIn(bytes)][0] as Listing
  const listing = read()
  const place = records.keep(listing) as number
  const end = 80 + listing.nameBytes + listing.filesBytes + listing.subdirectoriesBytes
  // All bytes from the watch on count, with these exceptions: error and flags, the device, the upper bytes of
  // a length that is 255 at most, and the counts that follow from the bytes.
  const leftOut = [16, 20, 40, 44, 64, 72].flatMap((word) => [word, word + 1, word + 2, word + 3])
  leftOut.push(61, 62, 63)
  const flip = (i: number, bit: number) => {
    bytes[i] = (bytes[i] as number) ^ bit
  }
  for (let i = 12; i < end; i++) {
    if (leftOut.includes(i)) continue
    flip(i, 1)
    expect(records.isSame(place, read()), `byte ${i}`).toBe(false)
    flip(i, 1)
  }
  // The name's flag.
  flip(20, 4)
  expect(records.isSame(place, read())).toBe(false)
  flip(20, 4)
  expect(records.isSame(place, read())).toBe(true)
})

test('directories of more owners than there is room for, and one of too many files, are not kept', () => {
  const records = new KeptRecords()
  const owners = Array.from({ length: 4097 }, (_, uid) => ({ ...ONE, uid }))
  const places = listed(...owners).map((listing) => records.keep(listing))
  expect(places.indexOf(undefined)).toBe(4096)
  expect(records.isSame(places[4095] as number, listed({ ...ONE, uid: 4095 })[0] as Listing)).toBe(true)
  const files = Array.from({ length: 5000 }, (_, i): [string, Entry] => [`${i}`.padStart(255, 'f'), file(i)])
  expect(keep(new KeptRecords(), { ...ONE, entries: files })).toEqual([undefined])
})

test('more than a block of them, and one that is longer than a block', () => {
  const records = new KeptRecords()
  const long: RecordSpec = {
    ...ONE,
    name: 'long',
    entries: Array.from({ length: 40_000 }, (_, i): [string, Entry] => [`file-${i}`, file(i + 1)]),
  }
  const specs = [
    ...Array.from({ length: 3000 }, (_, i) => ({ ...ONE, name: `directory-${i}`, ino: i, uid: i % 7 })),
    long,
    { ...ONE, name: 'last' },
    ...Array.from({ length: 3000 }, (_, i) => ({ ...ONE, name: `more-${i}`, ino: i })),
  ]
  const places = keep(records, ...specs)
  records.seal()
  const again = listed(...specs)
  for (const [i, place] of places.entries()) {
    expect([records.nameAt(place), records.inoAt(place)]).toEqual([specs[i]?.name, specs[i]?.ino])
    expect(records.isSame(place, again[i] as Listing)).toBe(true)
  }
  expect(filesOf(records.filesAt(places[3000] as number))).toHaveLength(40_000)
})
