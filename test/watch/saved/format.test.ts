// The file of a snapshot: a written file is read back, and a file that is torn or changed anywhere is
// refused.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { keyOf } from '../../../src/name_key.ts'
import { likenessOf } from '../../../src/watch/saved/filesystem.ts'
import {
  decodeSaved,
  encodeSaved,
  type Saved,
  type SavedRoot,
  TornError,
} from '../../../src/watch/saved/format.ts'
import type { Entry, Stat } from '../../../src/watch/scan/entry.ts'
import { pack } from '../../../src/watch/scan/packed_entries.ts'

const exact = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const odd = fc.double({ min: 0, noNaN: true })

const stat = fc.record<Stat>({
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
const name = fc
  .uint8Array({ minLength: 1, maxLength: 255 })
  .map((bytes) => keyOf(Buffer.from(bytes.map((byte) => (byte === 0 || byte === 0x2f ? 0x61 : byte)))))
const entry = fc.record({
  kind: fc.constantFrom('file', 'symlink', 'other', 'directory'),
  ino: exact,
  stat: fc.option(stat, { nil: undefined }),
})
const packed = fc.array(fc.tuple(name, entry), { maxLength: 6 }).map(pack)
const directory = fc.record({
  parent: fc.integer({ min: -1, max: 5 }),
  self: packed,
  base: fc.option(fc.record({ mountId: exact, link: fc.option(entry, { nil: undefined }) }), {
    nil: undefined,
  }),
  entries: packed,
})
const place = {
  path: name.map((each) => `/${each}`),
  filesystem: fc.record({ type: fc.string({ unit: 'binary' }), source: fc.string(), device: fc.string() }),
}
const root: fc.Arbitrary<SavedRoot> = fc.oneof(
  fc.record({ ...place, kind: fc.constant('directory'), directories: fc.array(directory) }),
  fc.record({ ...place, kind: fc.constant('file'), entry }),
  fc.record({ ...place, kind: fc.constant('absent') }),
)
const saved: fc.Arbitrary<Saved> = fc.record({
  bootId: fc.string(),
  toldUntil: odd,
  roots: fc.array(root, { maxLength: 4 }),
})

test('an entry takes 40 bytes at most besides its name, as files are that were made at any time', async () => {
  const [entries] = fc.sample(
    fc.array(fc.tuple(exact, exact, odd, odd, fc.nat(2 ** 20)), { minLength: 2000, maxLength: 2000 }),
    { numRuns: 1, seed: 1 },
  )
  const like = { mode: 0o100644, uid: 1000, gid: 1000, nlink: 1 }
  const files = (entries ?? []).map(([mtime, ctime, ms, born, size], i): [string, Entry] => {
    const [ctimeMs, btimeMs] = [ms, born].map((odd) => 1.79e12 + Math.floor(odd % 1e10) / 2 ** 10)
    const stat = { ...like, size, mtime, ctime, ctimeMs, btimeMs } as Stat
    return ['n', { kind: 'file', ino: 5_000_000 + i, stat }]
  })
  const directories = [{ parent: -1, self: '', base: undefined, entries: pack(files) }]
  const filesystem = { type: 'ext4', source: '/dev/sda1', device: '1' }
  const root: SavedRoot = { path: '/r', filesystem, kind: 'directory', directories }
  const bytes = await encodeSaved({ bootId: 'boot', toldUntil: 1, roots: [root] })
  expect(bytes.length / files.length - 1).toBeLessThan(40)
})

test('a file: what is written is read', async () => {
  await fc.assert(
    fc.asyncProperty(saved, async (of) => {
      expect(await decodeSaved(await encodeSaved(of))).toEqual(of)
    }),
  )
})

test('each truncation is refused, and each flipped bit that changes what is read', async () => {
  const [of] = fc.sample(
    saved.filter(({ roots }) => roots.length > 2),
    { numRuns: 1, seed: 1 },
  )
  const bytes = await encodeSaved(of as Saved)
  for (let length = 0; length < bytes.length; length++)
    await expect(decodeSaved(bytes.subarray(0, length)), `${length} bytes`).rejects.toThrow(TornError)
  for (let i = 0; i < bytes.length; i++) {
    const flipped = Buffer.from(bytes)
    flipped[i] = (flipped[i] as number) ^ (1 << (i % 8))
    const read = await decodeSaved(flipped).catch((error) => error)
    // Some bits only fill a byte up.
    if (!(read instanceof TornError)) expect(read, `byte ${i}`).toEqual(of)
  }
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
