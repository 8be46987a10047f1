import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Kind } from '../../../src/index.ts'
import { keyOf } from '../../../src/name_key.ts'
import type { Entries, Entry, Stat } from '../../../src/watch/scan/entry.ts'
import {
  hasChangedSince,
  pack,
  unpack,
  unpackString,
  withoutStats,
} from '../../../src/watch/scan/packed_entries.ts'
import { file, seen, stat } from '../tree/believed.ts'

const LARGEST_NUMBER = Number.MAX_SAFE_INTEGER
const KINDS: Kind[] = ['file', 'symlink', 'other', 'directory']

/** An entry without a stat still has the property. */
const bare = (kind: Kind, ino: number): Entry => ({ kind, ino, stat: undefined })

function roundTrip(entries: Entries): Entries {
  return unpackString(pack(entries))
}

test.each(KINDS)('a %s', (kind) => {
  const entries: Entries = new Map([['name', bare(kind, 7)]])
  expect(roundTrip(entries)).toEqual(entries)
})

test('without stats: as if none had been asked for', () => {
  const content = 'sixteen bytes...'
  const stats = [undefined, stat({ size: 7 }), stat({ size: 8, content })]
  const entries = KINDS.flatMap((kind, i) =>
    stats.map((each, j): [string, Entry] => [`\u00e4${i}${j}`, { kind, ino: 300 * i + j, stat: each }]),
  )
  const bareOnes = entries.map(([name, { kind, ino }]): [string, Entry] => [name, bare(kind, ino)])
  expect(withoutStats(pack(entries))).toBe(pack(bareOnes))
  expect(withoutStats('')).toBe('')
})

test('inode numbers of every length, smallest and largest', () => {
  const numbers = [0]
  for (let bytes = 0; bytes < 7; bytes++)
    numbers.push(256 ** bytes, Math.min(256 ** (bytes + 1) - 1, LARGEST_NUMBER))
  const entries: Entries = new Map(numbers.map((ino) => [`ino ${ino}`, bare('file', ino)]))
  expect(entries.size).toBe(15)
  expect(roundTrip(entries)).toEqual(entries)
})

test('without an inode number an entry takes its name and two bytes; each byte of a number one more', () => {
  const size = (ino: number) => pack([['abc', bare('file', ino)]]).length
  expect([0, 1, 255, 256, 2 ** 48 - 1, 2 ** 48, LARGEST_NUMBER].map(size)).toEqual([5, 6, 6, 7, 11, 12, 12])
})

test('the largest of everything that a stat holds', () => {
  const largest = stat({
    content: '\xff\0'.repeat(8),
    mode: 2 ** 32 - 1,
    uid: 2 ** 32 - 1,
    gid: 2 ** 32 - 1,
    nlink: 2 ** 32 - 1,
    size: LARGEST_NUMBER,
    mtime: LARGEST_NUMBER,
    ctime: LARGEST_NUMBER,
    ctimeMs: 1.7e12 + 0.25,
    btimeMs: -0.5,
  })
  const entries: Entries = new Map([['a', { kind: 'file', ino: LARGEST_NUMBER, stat: largest }]])
  expect(roundTrip(entries)).toEqual(entries)
})

test('names of no UTF-8, of no ASCII, of 255 bytes, and those that differ in a byte alone', () => {
  const names = [
    keyOf(Buffer.from([0x61, 0xff])),
    keyOf(Buffer.from([0x61, 0xfe])),
    keyOf(Buffer.alloc(255, 0x80)),
    keyOf(Buffer.from('\u00f6\ud83d\ude00 \ufffd')),
    'x'.repeat(255),
    '\u00e9'.repeat(127),
    '\x01\n"\\',
    '__proto__',
  ]
  const entries: Entries = new Map(names.map((name, i) => [name, bare('file', i)]))
  expect(entries.size).toBe(names.length)
  expect(roundTrip(entries)).toEqual(entries)
})

test('nothing', () => {
  expect(pack([])).toBe('')
  expect(roundTrip(new Map())).toEqual(new Map())
})

test('more than the scratch block holds at first, again and again', () => {
  const entries: Entries = new Map()
  for (let i = 0; i < 3000; i++)
    entries.set(`${i}`.padEnd(255, 'n'), { kind: 'file', ino: i, stat: stat({ size: i }) })
  const packed = pack(entries)
  expect(packed.length).toBeGreaterThan(900_000)
  expect(pack(entries)).toBe(packed)
  expect(unpackString(packed)).toEqual(entries)
})

test('a longer string than any that was packed here', () => {
  const one = pack([['a'.repeat(200), bare('file', 1)]])
  const last = pack([['b', bare('file', 2)]])
  expect([...unpackString(one.repeat(40_000) + last).keys()]).toEqual(['a'.repeat(200), 'b'])
})

test('only what is between start and end is read', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => pack([[name, bare('symlink', 300)]])) as [
    string,
    string,
    string,
  ]
  const found = unpack(Buffer.from(a + b + c, 'latin1'), a.length, a.length + b.length)
  expect([...found.keys()]).toEqual(['b'])
})

const uint32 = fc.nat({ max: 2 ** 32 - 1 })
const number = fc.maxSafeNat()
const anyStat: fc.Arbitrary<Stat> = fc.record({
  mode: uint32,
  uid: uint32,
  gid: uint32,
  nlink: uint32,
  size: number,
  mtime: number,
  ctime: number,
  ctimeMs: fc.double({ noNaN: true }),
  btimeMs: fc.double({ noNaN: true }),
})
// The exponents are uniform. Uniform numbers would nearly all have seven bytes.
const ino = fc.tuple(fc.integer({ min: 0, max: 53 }), number).map(([bits, n]) => n % 2 ** bits)
const anyEntry: fc.Arbitrary<Entry> = fc.record({
  kind: fc.constantFrom(...KINDS),
  ino,
  stat: fc.option(anyStat, { nil: undefined }),
})
const anyName = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 255 }).map((bytes) => keyOf(Buffer.from(bytes))),
  fc.string({ minLength: 1, maxLength: 60, unit: 'grapheme' }).map((text) => keyOf(Buffer.from(text))),
)

test('whatever is packed is unpacked', () => {
  const any = fc.array(fc.tuple(anyName, anyEntry)).map((list): Entries => new Map(list))
  fc.assert(fc.property(any, (entries) => void expect(roundTrip(entries)).toEqual(entries)))
})

test('whether any was changed since is told without unpacking; of what was not looked at, nobody knows', () => {
  const packed = pack([
    ['a', file(1)],
    ['\u00e4', seen('file', 2, { ctimeMs: 7 })],
    ['b', seen('file', 2 ** 50, { ctimeMs: 9, content: 'x'.repeat(16) })],
    ['c', seen('file', 3, { ctimeMs: 8 })],
  ])
  const block = Buffer.from(packed, 'latin1')
  const isChanged = (since: number, end = block.length) => hasChangedSince(block, 0, end, since)
  expect([7, 8, 9, 10].map((since) => isChanged(since))).toEqual([true, true, true, false])
  expect(isChanged(0, pack([['a', file(1)]]).length)).toBe(false)
  // With times of whole seconds, a later change within the same second has the same time.
  const coarse = Buffer.from(pack([['a', seen('file', 1, { ctimeMs: 5000 })]]), 'latin1')
  expect([7000, 7001].map((since) => hasChangedSince(coarse, 0, coarse.length, since))).toEqual([true, false])
})
