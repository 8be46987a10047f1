// The file of a snapshot: what is written is read, and what is torn or changed is refused, wherever.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { keyOf } from '../../../src/name_key.ts'
import { ByteReader, ByteWriter, TornError } from '../../../src/watch/saved/bytes.ts'
import { likenessOf } from '../../../src/watch/saved/filesystem.ts'
import {
  decodeSaved,
  encodeSaved,
  type Saved,
  type SavedEntry,
  SectionReader,
  SectionWriter,
} from '../../../src/watch/saved/format.ts'
import type { Stat } from '../../../src/watch/scan/entry.ts'

const exact = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const odd = fc.double({ min: 0, noNaN: true })

const FOLD = 2n ** 53n

/** As the addon has it: ns since the epoch, folded, and in ms. */
function timeOf(ns: bigint): { folded: number; ms: number } {
  return { folded: Number((ns ^ (ns / FOLD)) % FOLD), ms: Number(ns) / 1e6 }
}

// Some age begins within the second range.
const ns = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.bigInt({ min: 1_700_000_000_000_000_000n, max: 1_900_000_000_000_000_000n }),
  fc
    .integer({ min: 1, max: 2047 })
    .chain((age) => fc.bigInt({ min: BigInt(age) * FOLD - 2000n, max: BigInt(age) * FOLD + 2000n })),
)
const likely = fc
  .record({
    ctime: ns,
    mtime: ns,
    btime: ns,
    isSame: fc.boolean(),
    mode: u32,
    uid: u32,
    gid: u32,
    nlink: u32,
    size: exact,
  })
  .map(({ ctime, mtime, btime, isSame, ...rest }): Stat => {
    const [change, write, birth] = [timeOf(ctime), timeOf(isSame ? ctime : mtime), timeOf(btime)]
    return {
      ...rest,
      mtime: write.folded,
      ctime: change.folded,
      ctimeMs: change.ms,
      btimeMs: birth.ms,
    }
  })
const unlikely = fc.record<Stat>({
  mode: u32,
  uid: u32,
  gid: u32,
  nlink: u32,
  size: fc.oneof(exact, fc.constantFrom(2 ** 63, 2 ** 60)),
  mtime: exact,
  ctime: exact,
  ctimeMs: odd,
  btimeMs: odd,
})
const stat = fc.oneof(
  likely,
  unlikely,
  fc.tuple(likely, fc.uint8Array({ minLength: 16, maxLength: 16 })).map(([of, bytes]) => ({
    ...of,
    content: Buffer.from(bytes).toString('latin1'),
  })),
)
const name = fc
  .uint8Array({ minLength: 1, maxLength: 255 })
  .map((bytes) => keyOf(Buffer.from(bytes.map((byte) => (byte === 0 || byte === 0x2f ? 0x61 : byte)))))
const entry = fc.record({
  kind: fc.constantFrom('file', 'symlink', 'other', 'directory'),
  ino: exact,
  stat: fc.option(stat, { nil: undefined }),
})
const savedEntry: fc.Arbitrary<SavedEntry & { name: string }> = fc.record(
  {
    name,
    entry,
    isEntered: fc.boolean(),
    isInDoubt: fc.boolean(),
    base: fc.record({ mountId: exact, link: fc.option(entry, { nil: undefined }) }),
  },
  { requiredKeys: ['name', 'entry', 'isEntered', 'isInDoubt'] },
)

function sectionOf(directories: ReadonlyArray<ReadonlyArray<SavedEntry & { name: string }>>): Buffer {
  const writer = new SectionWriter()
  for (const entries of directories) {
    writer.directory(entries.length)
    for (const { name, ...saved } of entries) writer.entry(name, saved)
  }
  return writer.take()
}

const section = fc.array(fc.array(savedEntry, { maxLength: 6 }), { maxLength: 6 })
const saved: fc.Arbitrary<Saved> = fc.record({
  bootId: fc.string(),
  toldUntil: odd,
  roots: fc.array(
    fc.record({
      path: name.map((each) => `/${each}`),
      kind: fc.constantFrom('directory', 'file', 'absent'),
      filesystem: fc.record({
        type: fc.string({ unit: 'binary' }),
        source: fc.string(),
        device: fc.string(),
      }),
      section: section.map(sectionOf),
    }),
    { maxLength: 4 },
  ),
})

test('a section: what is written is read, to the bit', () => {
  fc.assert(
    fc.property(section, (directories) => {
      const reader = new SectionReader(sectionOf(directories))
      const read = directories.map(() => Array.from({ length: reader.directory() }, () => reader.entry()))
      reader.end()
      expect(read).toEqual(directories)
    }),
    { numRuns: 500 },
  )
})

test('what a walk sees takes few bytes: no time is written that can be told from another', () => {
  const now = 1_790_000_000_123_456_789n
  const entries = Array.from({ length: 1000 }, (_, i): SavedEntry & { name: string } => {
    const change = timeOf(now + BigInt(i) * 40_123n)
    const birth = timeOf(now + BigInt(i) * 40_123n - 20_000n)
    const write = i % 2 === 0 ? change : timeOf(1_500_000_000_000_000_000n + BigInt(i) * 1_000_000_000_000n)
    const stat = {
      ...{ mode: 0o100644, uid: 1000, gid: 1000, nlink: 1, size: i * 37 },
      ...{
        mtime: write.folded,
        ctime: change.folded,
        ctimeMs: change.ms,
        btimeMs: birth.ms,
      },
    }
    return {
      name: 'n',
      entry: { kind: 'file', ino: 5_000_000 + i, stat },
      isEntered: false,
      isInDoubt: false,
    }
  })
  expect(sectionOf([entries]).length / entries.length - 1).toBeLessThan(18)
})

test('a file: what is written is read', async () => {
  await fc.assert(
    fc.asyncProperty(saved, async (of) => {
      expect(await decodeSaved(await encodeSaved(of))).toEqual(of)
    }),
  )
})

test('each truncation and each flipped bit is refused, and what has something behind it', async () => {
  const [of] = fc.sample(
    saved.filter(({ roots }) => roots.some(({ section }) => section.length > 100)),
    { numRuns: 1, seed: 1 },
  )
  const bytes = await encodeSaved(of as Saved)
  for (let length = 0; length < bytes.length; length++)
    await expect(decodeSaved(bytes.subarray(0, length)), `${length} bytes`).rejects.toThrow(TornError)
  for (let i = 0; i < bytes.length; i++) {
    const flipped = Buffer.from(bytes)
    flipped[i] = (flipped[i] as number) ^ (1 << (i % 8))
    await expect(decodeSaved(flipped), `byte ${i}`).rejects.toThrow(TornError)
  }
  await expect(decodeSaved(Buffer.concat([bytes, Buffer.of(0)]))).rejects.toThrow(TornError)
})

test('a section of any bytes is refused or read, and is no end of either', () => {
  const read = (bytes: Uint8Array) => {
    const reader = new SectionReader(Buffer.from(bytes))
    for (let directories = 1; directories > 0; directories--)
      for (let left = reader.directory(); left > 0; left--) if (reader.entry().isEntered) directories++
    reader.end()
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      try {
        read(bytes)
      } catch (error) {
        expect(error).toBeInstanceOf(TornError)
      }
    }),
    { numRuns: 2000 },
  )
})

describe('bytes', () => {
  test('numbers', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(exact, exact)), (pairs) => {
        const writer = new ByteWriter()
        for (const [base, value] of pairs) {
          writer.varint(value)
          writer.from(base, value)
        }
        const reader = new ByteReader(writer.take())
        for (const [base, value] of pairs)
          expect([reader.varint(), reader.from(base)]).toEqual([value, value])
        expect(reader.isAtEnd).toBe(true)
      }),
    )
  })
})

describe('which numbers mean what they meant', () => {
  const ext4 = { type: 'ext4', source: '/dev/sda1', device: '1' }
  const fuse = { type: 'fuse.sshfs', source: 'host:', device: '40' }
  const tmpfs = { type: 'tmpfs', source: 'tmpfs', device: '41' }
  test.each([
    [ext4, ext4, true, 'same'],
    [ext4, { ...ext4, device: '2' }, false, 'same'],
    [ext4, { ...ext4, source: '/dev/sdb1' }, true, 'another'],
    [ext4, tmpfs, true, 'another'],
    [fuse, fuse, true, 'same'],
    [fuse, fuse, false, 'names'],
    [fuse, { ...fuse, device: '42' }, true, 'names'],
    [tmpfs, tmpfs, true, 'same'],
    [tmpfs, tmpfs, false, 'another'],
    [tmpfs, { ...tmpfs, device: '43' }, true, 'another'],
    [{ type: '', source: '', device: '' }, ext4, true, 'names'],
  ] as const)('%o, then %o, of one boot: %s', (one, other, isSameBoot, likeness) => {
    expect(likenessOf(one, other, isSameBoot)).toBe(likeness)
  })
})
