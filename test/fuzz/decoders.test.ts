// Feeds random input to the TypeScript readers of the kernel's text, the addon's bytes and the library's own
// files. A right input must be read as it was written, and a wrong one must give an answer too. `npm run
// fuzz` plays this for longer, with the addon's own parsers.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PackedBatch } from '../../src/inotify/batch.ts'
import { watchesIn } from '../../src/inotify/fdinfo.ts'
import { parseLedger } from '../../src/mirror/staging/own.ts'
import { isWithin, type MountRow, mountAt, parseMountinfo } from '../../src/mounts/mountinfo.ts'
import { keyOf } from '../../src/name_key.ts'
import type { Entry } from '../../src/watch/scan/entry.ts'
import { listingsIn } from '../../src/watch/scan/listing.ts'
import { pack, unpackString } from '../../src/watch/scan/packed_entries.ts'
import { recordsOf } from '../watch/scan/records.ts'

const minutes = Number(process.env.FUZZ_MINUTES ?? 0)
// The tests share the time of one of the addon's parsers.
const TESTS = 8
const playing: fc.Parameters<unknown> =
  minutes > 0
    ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: (minutes * 60_000) / TESTS }
    : { numRuns: 100 }
const timeout = minutes * 60_000 + 300_000

/** Plays a property for as long as the time allows. */
function holds<T>(what: string, about: fc.Arbitrary<T>, check: (of: T) => void): void {
  test(what, () => fc.assert(fc.property(about, check), playing as fc.Parameters<[T]>), timeout)
}

const byte = fc.integer({ min: 0, max: 255 })
const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const exact = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
/** Names like the kernel's: any bytes but NUL and '/'. */
const nameBytes = fc
  .array(
    byte.filter((each) => each !== 0 && each !== 0x2f),
    { minLength: 1, maxLength: 255 },
  )
  .map((bytes) => Buffer.from(bytes))
const key = nameBytes.map(keyOf)
const stat = fc.record({
  mode: u32,
  uid: u32,
  gid: u32,
  nlink: u32,
  size: exact,
  mtime: exact,
  ctime: exact,
  ctimeMs: fc.double({ noNaN: true }),
  btimeMs: fc.double({ noNaN: true }),
})
const entry: fc.Arbitrary<Entry> = fc.record({
  kind: fc.constantFrom('file', 'symlink', 'other', 'directory'),
  ino: exact,
  stat: fc.option(stat, { nil: undefined }),
})
const entries = fc.uniqueArray(fc.tuple(key, entry), { selector: ([name]) => name, maxLength: 20 })

describe("the walker's records", () => {
  holds('entries are what was packed', entries, (packed) => {
    expect(unpackString(pack(packed))).toEqual(new Map(packed))
  })

  const spec = fc.record({ id: u32.map((id) => id | 0), name: key, ino: exact, error: fc.integer(), entries })
  holds('listings are what was written', fc.array(spec, { maxLength: 5 }), (specs) => {
    const found = [...listingsIn(recordsOf(specs))]
    expect(found.map(({ id, name, ino, error }) => ({ id, name, ino, error: error | 0 }))).toEqual(
      specs.map(({ id, name, ino, error }) => ({ id, name, ino, error: error | 0 })),
    )
    for (const [i, listing] of found.entries()) expect(listing.entries()).toEqual(new Map(specs[i]?.entries))
  })
})

// Rows and names in the form of native/queue/packing.h.
const COLUMNS = 4
const GROUP = 64
const NOT_ASCII = 1 << 30
const SAME_NAME = 1 << 29

function packEvents(events: ReadonlyArray<[wd: number, name: Buffer]>): PackedBatch {
  const rows = new Int32Array(events.length * COLUMNS)
  const names: string[] = []
  let end = 0
  for (const [i, [wd, name]] of events.entries()) {
    const before = i % GROUP === 0 ? undefined : events[i - 1]?.[1]
    const isSame = name.length > 0 && before?.equals(name) === true
    if (i % GROUP === 0) {
      names.push('')
      end = 0
    }
    if (!isSame) {
      names[names.length - 1] += name.toString('latin1')
      end += name.length
    }
    const isAscii = name.every((each) => each < 0x80)
    rows.set([wd, 0, 0, end | (isSame ? SAME_NAME : 0) | (isAscii ? 0 : NOT_ASCII)], i * COLUMNS)
  }
  return new PackedBatch(rows, names)
}

describe("inotify's batches", () => {
  const name = fc.oneof(
    fc.constantFrom('', 'a', 'b').map((text) => Buffer.from(text)),
    nameBytes,
  )
  const event = fc.tuple(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), name)
  holds(
    'names are what was packed, in whatever order they are asked for',
    fc.array(event, { maxLength: 200 }),
    (packed) => {
      const batch = packEvents(packed)
      const order = packed.map((_, i) => (i * 7) % packed.length)
      for (const i of [...order, ...packed.keys()]) {
        expect(batch.wd(i)).toBe(packed[i]?.[0])
        expect(batch.name(i)).toBe(packed[i]?.[1].toString())
        expect(batch.nameBytes(i)).toEqual(packed[i]?.[1])
      }
    },
  )
})

/** Escapes a field as the kernel does (mangle(), show_sb_opts()). */
const escaped = (text: string) =>
  text.replace(/[ \t\n\\#,=]/g, (each) => `\\${each.charCodeAt(0).toString(8).padStart(3, '0')}`)

describe('mountinfo', () => {
  const text = fc.string({ unit: 'binary', maxLength: 12 }).filter((each) => !/[\0\ud800-\udfff]/.test(each))
  const some = text.filter((each) => each !== '')
  const point = fc.array(some, { maxLength: 3 }).map((names) => `/${names.join('/')}`)
  const row = fc.record({
    id: fc.nat(),
    parent: fc.nat(),
    root: point,
    point,
    type: some,
    source: text,
    options: fc.uniqueArray(some, { maxLength: 4 }),
  })
  const tags = fc.array(fc.constantFrom('shared:1', 'master:2', 'unbindable', 'new:'), { maxLength: 3 })
  const lineOf = ({ id, parent, root, point, type, source, options }: MountRow, optional: string[]) =>
    [
      id,
      parent,
      '0:1',
      escaped(root),
      escaped(point),
      options.map(escaped).join(',') || ',',
      ...optional,
      '-',
    ]
      .concat([escaped(type), escaped(source), ''])
      .join(' ')

  holds('rows are what the kernel wrote', fc.array(fc.tuple(row, tags), { maxLength: 6 }), (table) => {
    const lines = table.map(([each, optional]) => lineOf(each, optional))
    expect(parseMountinfo(lines.join('\n'))).toEqual(table.map(([each]) => each))
  })

  const anything = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc
      .array(fc.constantFrom('1', '2', '/', '/a', '-', ' ', '\n', '\\', '040', ',', 'x'), { maxLength: 60 })
      .map((parts) => parts.join('')),
  )
  holds('any text has rows, or none', anything, (found) => {
    for (const each of parseMountinfo(found)) {
      expect(Number.isInteger(each.id) && Number.isInteger(each.parent)).toBe(true)
      expect(each.point.startsWith('/')).toBe(true)
    }
  })

  const ids = fc.integer({ min: 0, max: 4 })
  const places = fc.constantFrom('/', '/a', '/a/b', '/ab')
  const tangled = fc.array(
    fc
      .record({ id: ids, parent: ids, point: places })
      .map((some): MountRow => ({ root: '/', type: 'x', source: '', options: [], ...some })),
  )
  holds(
    'in any table a path is on a mount that it lies in, or on none',
    fc.tuple(tangled, places),
    ([table, path]) => {
      const found = mountAt(table, path)
      if (found !== undefined) expect(isWithin(path, found.point)).toBe(true)
    },
  )
})

describe('files of /proc and of a mirror', () => {
  const wds = fc.array(fc.integer({ min: 1, max: 2 ** 31 - 1 }))
  holds(
    'the watches in fdinfo are those that the kernel wrote, whatever is beside them',
    fc.tuple(wds, fc.string()),
    ([watches, other]) => {
      const lines = watches.map(
        (wd) => `inotify wd:${wd.toString(16)} ino:7 sdev:800001 mask:fce ignored_mask:0`,
      )
      const beside = other.replaceAll('inotify', '')
      expect(watchesIn(['pos:\t0', ...lines, beside, ''].join('\n'))).toEqual(watches)
    },
  )

  const ledger = fc.record({
    target: fc.oneof(fc.anything(), fc.nat().map(String)),
    createdTarget: fc.oneof(fc.anything(), fc.boolean()),
    only: fc.oneof(fc.anything(), fc.string()),
    made: fc.oneof(
      fc.anything(),
      fc.array(fc.tuple(fc.oneof(fc.anything(), fc.constantFrom('a', '..', 'a/b')), fc.anything())),
    ),
  })
  const written = fc.oneof(fc.string(), fc.json(), fc.oneof(ledger, fc.anything()).map(textOf))
  holds('no ledger has a name that leads out of the target', written, (text) => {
    let state: ReturnType<typeof parseLedger>
    try {
      state = parseLedger(text)
    } catch (error) {
      expect(error).toBeInstanceOf(SyntaxError)
      return
    }
    for (const [name, inodes] of state?.made ?? []) {
      expect(['', '.', '..'].includes(name) || name.includes('/')).toBe(false)
      expect(inodes.every((inode) => typeof inode === 'string')).toBe(true)
    }
  })
})

/** Not every value of fast-check has a text. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return ''
  }
}
