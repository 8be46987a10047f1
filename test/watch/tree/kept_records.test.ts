import { expect, test } from 'vitest'
import { Chunk, FILES_BYTES, NAME_BYTES, SIZE, SUBDIRS_BYTES } from '../../../src/watch/scan/chunk.ts'
import type { Entry } from '../../../src/watch/scan/entry.ts'
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
  // As directories of packages have them: what lies in these is kept if this one is.
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

function chunkOf(...specs: RecordSpec[]): { chunk: Chunk; at: number[] } {
  const chunk = new Chunk(recordsOf(specs))
  const at: number[] = []
  for (let next = 0; next < chunk.bytes.length; next += chunk.i32[(next + SIZE) >> 2] as number) at.push(next)
  return { chunk, at }
}

function keep(records: KeptRecords, ...specs: RecordSpec[]): number[] {
  const { chunk, at } = chunkOf(...specs)
  return at.map((each) => records.keep(chunk, each) as number)
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
  const { chunk, at } = chunkOf(...MANY.map((spec) => ({ ...spec, id: 100, parent: 50 })))
  for (const [i, place] of places.entries())
    for (const [j, each] of at.entries())
      expect(records.isSame(place, chunk, each), `${i} ${j}`).toBe(i === j)
})

test.each<[string, Partial<RecordSpec>]>([
  ['watch', { wd: 13 }],
  ['name', { name: 'nama' }],
  ['length of the name', { name: 'nam' }],
  ['inode number', { ino: 78 }],
  ['upper half of the inode number', { ino: 77 + 2 ** 32 }],
  ['mount', { mountId: 4 }],
  ['device', { device: [8, 2] }],
  ['mode', { mode: 0o40700 }],
  ['owner', { uid: 0 }],
  ['group', { gid: 0 }],
  ['flags', { flags: 8 }],
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
  const place = keep(records, ONE)[0] as number
  const { chunk } = chunkOf({ ...ONE, ...other })
  expect(records.isSame(place, chunk, 0)).toBe(false)
  // Nor is this one the same as that.
  const { chunk: itself } = chunkOf(ONE)
  expect(records.isSame(keep(records, { ...ONE, ...other })[0] as number, itself, 0)).toBe(false)
  expect(records.isSame(place, itself, 0)).toBe(true)
})

test('each bit of what is told counts', () => {
  const records = new KeptRecords()
  const spec: RecordSpec = { ...ONE, entries: [...(ONE.entries ?? []), ['d', folder(6)]] }
  const place = keep(records, spec)[0] as number
  const { chunk } = chunkOf(spec)
  const lengths = [NAME_BYTES, FILES_BYTES, SUBDIRS_BYTES].map((offset) => chunk.i32[offset >> 2] as number)
  const end = 80 + lengths.reduce((sum, length) => sum + length, 0)
  // From the watch on: but for an error, of which none is kept, and the counts of what is told by its bytes.
  const counts = [16, 17, 18, 19, 64, 65, 66, 67, 72, 73, 74, 75]
  for (let i = 12; i < end; i++) {
    if (counts.includes(i)) continue
    chunk.bytes[i] = (chunk.bytes[i] as number) ^ 1
    expect(records.isSame(place, chunk, 0), `byte ${i}`).toBe(false)
    chunk.bytes[i] = (chunk.bytes[i] as number) ^ 1
  }
  expect(records.isSame(place, chunk, 0)).toBe(true)
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
  const { chunk, at } = chunkOf(...specs)
  for (const [i, place] of places.entries()) {
    expect([records.nameAt(place), records.inoAt(place)]).toEqual([specs[i]?.name, specs[i]?.ino])
    expect(records.isSame(place, chunk, at[i] as number)).toBe(true)
  }
  expect(filesOf(records.filesAt(places[3000] as number))).toHaveLength(40_000)
})
