import { keyOf, pathOf } from '../../name_key.ts'
import type { Kind } from '../report/change.ts'
import { type Entries, type Entry, mayBeChangedSince, type Stat } from './entry.ts'

// An entry, as native/record/record.cc packs it, little-endian: kind, flags and inode bytes in one byte; the name's
// bytes in one; the inode number without leading zeros; the stat block and content digest, if flagged; the name.
const HEAD = 2
const STAT_BYTES = 56
const CTIME_MS = 40
const CONTENT_BYTES = 16
const KIND_MASK = 3
const IS_ASCII = 4
const HAS_STAT = 8
const HAS_CONTENT = 16
const INO_SHIFT = 5
const LARGEST = HEAD + 7 + STAT_BYTES + CONTENT_BYTES + 255
const KINDS: readonly Kind[] = ['file', 'symlink', 'other', 'directory']
const NOT_ASCII = /[^\0-\x7f]/

/** Reads entries off a block that the addon has packed, or {@link pack}: one after another. */
export class EntryReader {
  readonly #block: Buffer
  readonly #end: number
  // The offset of the next entry.
  #next: number
  #start = 0
  /** The name of the current entry; undefined: there are no more. */
  name: string | undefined

  constructor(block: Buffer, start: number, end: number) {
    this.#block = block
    this.#next = start
    this.#end = end
    this.advance()
  }

  /** Goes on to the next one. */
  advance(): void {
    const block = this.#block
    const start = this.#next
    this.#start = start
    this.name = undefined
    if (start >= this.#end) return
    const first = block[start] as number
    const nameBytes = block[start + 1] as number
    this.#next = start + HEAD + (first >> INO_SHIFT) + statBytes(first) + nameBytes
    this.name = nameAt(block, this.#next - nameBytes, this.#next, (first & IS_ASCII) !== 0)
  }

  /** Returns the current entry. */
  entry(): Entry {
    const block = this.#block
    const start = this.#start
    const first = block[start] as number
    const inoBytes = first >> INO_SHIFT
    let ino = 0
    for (let i = inoBytes - 1; i >= 0; i--) ino = ino * 256 + (block[start + HEAD + i] as number)
    const stat = first & HAS_STAT ? readStat(block, start + HEAD + inoBytes, first) : undefined
    return { kind: KINDS[first & KIND_MASK] as Kind, ino, stat }
  }
}

/** Returns all entries of a block. */
export function unpack(block: Buffer, start: number, end: number): Entries {
  const entries: Entries = new Map()
  const reader = new EntryReader(block, start, end)
  for (let { name } = reader; name !== undefined; name = reader.name) {
    entries.set(name, reader.entry())
    reader.advance()
  }
  return entries
}

/** Returns true if any of the entries that have a stat may have changed since then, in ms since the epoch. Unpacks none. */
export function hasChangedSince(block: Buffer, start: number, end: number, since: number): boolean {
  for (let at = start; at < end; ) {
    const first = block[at] as number
    const nameBytes = block[at + 1] as number
    at += HEAD + (first >> INO_SHIFT)
    const ctimeMs = first & HAS_STAT ? block.readDoubleLE(at + CTIME_MS) : undefined
    if (ctimeMs !== undefined && mayBeChangedSince({ ctimeMs }, since)) return true
    at += statBytes(first) + nameBytes
  }
  return false
}

/** A name as the addon gives it, as a key: see {@link keyOf}. */
export function nameAt(block: Buffer, start: number, end: number, isAscii: boolean): string {
  return isAscii ? block.toString('latin1', start, end) : keyOf(block.subarray(start, end))
}

/** Returns the bytes that the stat block and the digest of the content take. */
function statBytes(flags: number): number {
  return (flags & HAS_STAT ? STAT_BYTES : 0) + (flags & HAS_CONTENT ? CONTENT_BYTES : 0)
}

// By a DataView, which is compiled to single loads; a Buffer's methods are functions that compute with bytes.
function readStat(block: Buffer, at: number, flags: number): Stat {
  const view = new DataView(block.buffer, block.byteOffset + at, STAT_BYTES)
  const stat: Stat = {
    mode: view.getUint32(0, true),
    uid: view.getUint32(4, true),
    gid: view.getUint32(8, true),
    nlink: view.getUint32(12, true),
    size: view.getFloat64(16, true),
    mtime: view.getFloat64(24, true),
    ctime: view.getFloat64(32, true),
    ctimeMs: view.getFloat64(CTIME_MS, true),
    btimeMs: view.getFloat64(48, true),
  }
  if (flags & HAS_CONTENT)
    stat.content = block.toString('latin1', at + STAT_BYTES, at + STAT_BYTES + CONTENT_BYTES)
  return stat
}

let scratch = Buffer.alloc(64 * 1024)

/** Returns the same entries, packed as in a listing without stat blocks. */
export function withoutStats(packed: string): string {
  if (packed.length > scratch.length) scratch = Buffer.alloc(packed.length * 2)
  const length = scratch.write(packed, 'latin1')
  let end = 0
  for (let at = 0; at < length; ) {
    const first = scratch[at] as number
    const nameBytes = scratch[at + 1] as number
    const stat = at + HEAD + (first >> INO_SHIFT)
    const name = stat + statBytes(first)
    scratch[end] = first & ~(HAS_STAT | HAS_CONTENT)
    end += 1 + scratch.copy(scratch, end + 1, at + 1, stat)
    end += scratch.copy(scratch, end, name, name + nameBytes)
    at = name + nameBytes
  }
  return scratch.toString('latin1', 0, end)
}

/**
 * Entries as a string of bytes (latin1): a fifth of what a Map of objects takes, and nothing for the collector to walk through.
 * The addon packs alike, so that a listing without stat blocks can be kept as it came.
 */
export function pack(entries: Iterable<[string, Entry]>): string {
  let end = 0
  for (const [name, entry] of entries) {
    if (end + LARGEST > scratch.length) {
      const larger = Buffer.alloc(scratch.length * 2)
      scratch.copy(larger, 0, 0, end)
      scratch = larger
    }
    end = write(scratch, end, name, entry)
  }
  return scratch.toString('latin1', 0, end)
}

/** Returns what {@link pack} has packed. */
export function unpackString(packed: string): Entries {
  if (packed.length > scratch.length) scratch = Buffer.alloc(packed.length * 2)
  scratch.write(packed, 'latin1')
  return unpack(scratch, 0, packed.length)
}

function write(block: Buffer, start: number, name: string, { kind, ino, stat }: Entry): number {
  const isAscii = !NOT_ASCII.test(name)
  let inoBytes = 0
  for (let rest = ino; rest >= 1; rest /= 256) inoBytes++
  let at = start + HEAD
  if (inoBytes < 7) {
    if (inoBytes > 0) block.writeUIntLE(ino, at, inoBytes)
  } else {
    block.writeUIntLE(ino % 2 ** 48, at, 6)
    block[at + 6] = Math.floor(ino / 2 ** 48)
  }
  at += inoBytes
  if (stat !== undefined) {
    block.writeUInt32LE(stat.mode, at)
    block.writeUInt32LE(stat.uid, at + 4)
    block.writeUInt32LE(stat.gid, at + 8)
    block.writeUInt32LE(stat.nlink, at + 12)
    block.writeDoubleLE(stat.size, at + 16)
    block.writeDoubleLE(stat.mtime, at + 24)
    block.writeDoubleLE(stat.ctime, at + 32)
    block.writeDoubleLE(stat.ctimeMs, at + CTIME_MS)
    block.writeDoubleLE(stat.btimeMs, at + 48)
    at += STAT_BYTES
    if (stat.content !== undefined) at += block.write(stat.content, at, 'latin1')
  }
  const text = isAscii ? name : pathOf(name)
  const nameBytes = typeof text === 'string' ? block.write(text, at) : text.copy(block, at)
  const content = stat?.content === undefined ? 0 : HAS_CONTENT
  const flags = (isAscii ? IS_ASCII : 0) | (stat === undefined ? 0 : HAS_STAT) | content
  block[start] = KINDS.indexOf(kind) | flags | (inoBytes << INO_SHIFT)
  block[start + 1] = nameBytes
  return at + nameBytes
}
