import { expect, test } from 'vitest'
import { LoneEvent, PackedBatch } from '../../src/inotify/batch.ts'

const NOT_ASCII = 1 << 30
const SAME_NAME = 1 << 29

// Packs as the addon does: 64 events a group, and each name ends where its row says. A name that equals the
// one before is left out.
function pack(names: Buffer[]): PackedBatch {
  const rows = new Int32Array(names.length * 4)
  const groups: string[] = []
  names.forEach((name, i) => {
    const group = i >> 6
    const isSame = i % 64 > 0 && name.length > 0 && name.equals(names[i - 1] as Buffer)
    groups[group] = (groups[group] ?? '') + (isSame ? '' : name.toString('latin1'))
    const ascii = name.every((byte) => byte < 0x80)
    const flags = (isSame ? SAME_NAME : 0) | (ascii ? 0 : NOT_ASCII)
    rows.set([i, 0x100, 7, (groups[group] as string).length | flags], i * 4)
  })
  return new PackedBatch(rows, groups)
}

test('names of every group, ASCII or not, empty or of 255 bytes', () => {
  const names = Array.from({ length: 200 }, (_, i) => {
    if (i % 5 === 0) return Buffer.alloc(0)
    if (i % 7 === 0) return Buffer.from(`größe-${i}`)
    if (i % 11 === 0) return Buffer.alloc(255, 'x')
    return Buffer.from(`name-${i}`)
  })
  const batch = pack(names)
  expect(batch.length).toBe(200)
  names.forEach((name, i) => {
    expect(batch.name(i)).toBe(name.toString())
    expect(batch.nameBytes(i)).toEqual(name)
  })
})

test('names that several events in a row have, in whichever order they are asked for', () => {
  const names = Array.from({ length: 300 }, (_, i) =>
    Buffer.from(['a', 'grö', 'b', ''][(i >> 3) % 4] as string),
  )
  const expected = names.map(String)
  const batch = pack(names)
  expect(names.map((_, i) => batch.name(i))).toEqual(expected)
  const backwards = pack(names)
  expect(names.map((_, i) => backwards.name(299 - i))).toEqual(expected.toReversed())
  expect(names.map((_, i) => pack(names).name(i))).toEqual(expected)
  expect(names.map((_, i) => batch.nameBytes(i))).toEqual(names)
})

test('a name that is no UTF-8 keeps its bytes', () => {
  const name = Buffer.from([0x61, 0xff, 0xfe, 0x62])
  const batch = pack([Buffer.from('before'), name, Buffer.from('after')])
  expect(batch.name(1)).toBe('a\ufffd\ufffdb')
  expect(batch.nameBytes(1)).toEqual(name)
  expect(batch.name(2)).toBe('after')
})

test('mask and cookie are unsigned', () => {
  const batch = new PackedBatch(new Int32Array([-1, -0x8000_0000, -1, 0]), [''])
  expect([batch.wd(0), batch.mask(0), batch.cookie(0)]).toEqual([-1, 0x8000_0000, 0xffff_ffff])
})

test('iterating makes an object of each event', () => {
  expect([...pack([Buffer.from('a'), Buffer.from('b')])]).toEqual([
    { wd: 0, mask: 0x100, cookie: 7, name: 'a' },
    { wd: 1, mask: 0x100, cookie: 7, name: 'b' },
  ])
})

test.each([-1, 1, 0.5, Number.NaN])('event %s of one is a RangeError', (i) => {
  for (const batch of [pack([Buffer.from('a')]), new LoneEvent(1, 0x100, 0, 'a', true)])
    for (const column of ['wd', 'mask', 'cookie', 'name', 'nameBytes'] as const)
      expect(() => batch[column](i)).toThrow(new RangeError(`no event ${i} in a batch of 1`))
})

// Takes the addon's form: the bytes of the name, a character each.
test.each(['', 'name', 'größe', '\x7f', 'x'.repeat(255)])(
  'an event that came alone reads as a batch of one: %j',
  (name) => {
    const bytes = Buffer.from(name)
    const isAscii = bytes.every((byte) => byte < 0x80)
    const lone = new LoneEvent(0, 0x100, 7, bytes.toString('latin1'), isAscii)
    const batch = pack([bytes])
    expect([lone.length, lone.wd(0), lone.mask(0), lone.cookie(0), lone.name(0)]).toEqual([
      1,
      0,
      0x100,
      7,
      name,
    ])
    expect(lone.nameBytes(0)).toEqual(batch.nameBytes(0))
    expect([...lone]).toEqual([...batch])
  },
)

test('an event that came alone, with a name that is no UTF-8, keeps its bytes', () => {
  const lone = new LoneEvent(1, 0x100, 0, 'a\xff', false)
  expect(lone.name(0)).toBe('a\ufffd')
  expect(lone.nameBytes(0)).toEqual(Buffer.from([0x61, 0xff]))
})
