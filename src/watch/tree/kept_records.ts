import {
  type Chunk,
  DEVICE,
  FILES_BYTES,
  FLAGS,
  GID,
  MODE,
  MOUNT_ID,
  NAME,
  NAME_BYTES,
  NAME_IS_ASCII,
  PARENT,
  SUBDIRS_BYTES,
  UID,
  WD,
} from '../scan/chunk.ts'
import { ownerKey } from '../scan/entry.ts'
import { nameAt } from '../scan/packed_entries.ts'

// The layout of a kept record, in words: the parent's id, the wd, the lower half of the inode number, the class with
// the bytes of the name, the bytes of the files. Then, where either is not 0, the upper half of the inode number and
// the bytes of the subdirectories. Then name, files and subdirectories as they came, padded with zeros to a whole word.
const KEPT_PARENT = 0
const KEPT_WD = 1
const KEPT_INO = 2
const KEPT_CLASS = 3
const KEPT_FILES = 4
const KEPT_HEAD = 5
const INO_ABOVE = 5
const SUBDIRS = 6
const LONG_HEAD = 7

// The parts of the fourth word (KEPT_CLASS).
const NAME_MASK = 0xff
const IS_LONG = 0x100
const CLASS_SHIFT = 9
const MOST_CLASSES = 2 ** (31 - CLASS_SHIFT)

// The fields that the directories of a tree mostly share: where they lie, and who owns them.
const CLASS_FIELDS = [FLAGS, MOUNT_ID, MOUNT_ID + 4, DEVICE, DEVICE + 4, MODE, UID, GID]

const OWNER_FIELDS = CLASS_FIELDS.indexOf(MODE)

const BLOCK_WORDS = 1 << 16

interface Block {
  bytes: Buffer
  i32: Int32Array
}

/**
 * Keeps of the records of a walk what it takes to make directories of them, and to tell whether another walk has found the same: two thirds
 * of their bytes, and nothing of records that are not kept. A place is the offset of a record, in words from the beginning of the first.
 */
export class KeptRecords {
  readonly #blocks: Block[] = []
  // The place at which each block begins.
  readonly #starts: number[] = []
  // The number of words used in the last block.
  #used = 0
  // The CLASS_FIELDS of all classes, one class after another.
  readonly #classes: number[] = []
  readonly #classOf = new Map<string, number>()
  #lastClass = 0

  /** Keeps the record that begins at this byte of a chunk, and returns its place; undefined: the record cannot be kept. */
  keep(chunk: Chunk, at: number): number | undefined {
    const from = at >> 2
    const { i32 } = chunk
    const kind = this.#classAt(i32, from)
    if (kind === undefined) return undefined
    const ino = chunk.inoAt(at)
    const nameBytes = field(i32, from, NAME_BYTES)
    const filesBytes = field(i32, from, FILES_BYTES)
    const subdirsBytes = field(i32, from, SUBDIRS_BYTES)
    const isLong = ino >= 2 ** 32 || subdirsBytes > 0
    const head = isLong ? LONG_HEAD : KEPT_HEAD
    const words = head + ((nameBytes + filesBytes + subdirsBytes + 3) >> 2)
    const start = this.#reserve(words)
    const to = (this.#blocks.at(-1) as Block).i32
    to[start + KEPT_PARENT] = field(i32, from, PARENT)
    to[start + KEPT_WD] = field(i32, from, WD)
    to[start + KEPT_INO] = ino
    to[start + KEPT_CLASS] = (kind << CLASS_SHIFT) | (isLong ? IS_LONG : 0) | nameBytes
    to[start + KEPT_FILES] = filesBytes
    if (isLong) {
      to[start + INO_ABOVE] = ino / 2 ** 32
      to[start + SUBDIRS] = subdirsBytes
    }
    const names = from + (NAME >> 2)
    to.set(i32.subarray(names, names + words - head), start + head)
    return (this.#starts.at(-1) as number) + start
  }

  /** Ends the keeping: the memory that was reserved for more records is given back. */
  seal(): void {
    this.#trim()
  }

  /** Returns true if a record says the same of the same directory. The ids of the two in their walks may differ. */
  isSame(place: number, chunk: Chunk, at: number): boolean {
    const { block, start } = this.#find(place)
    const kept = block.i32
    const from = at >> 2
    const { i32 } = chunk
    const nameBytes = field(i32, from, NAME_BYTES)
    const filesBytes = field(i32, from, FILES_BYTES)
    const subdirsBytes = field(i32, from, SUBDIRS_BYTES)
    const isLong = ((kept[start + KEPT_CLASS] as number) & IS_LONG) !== 0
    const isAlike =
      kept[start + KEPT_WD] === field(i32, from, WD) &&
      ((kept[start + KEPT_CLASS] as number) & NAME_MASK) === nameBytes &&
      kept[start + KEPT_FILES] === filesBytes &&
      (isLong ? kept[start + SUBDIRS] : 0) === subdirsBytes &&
      this.inoAt(place) === chunk.inoAt(at) &&
      this.#isOfClass((kept[start + KEPT_CLASS] as number) >>> CLASS_SHIFT, i32, from)
    if (!isAlike) return false
    const words = (nameBytes + filesBytes + subdirsBytes + 3) >> 2
    const [names, keptNames] = [from + (NAME >> 2), start + (isLong ? LONG_HEAD : KEPT_HEAD)]
    return (
      block.bytes.compare(
        chunk.bytes,
        names << 2,
        (names + words) << 2,
        keptNames << 2,
        (keptNames + words) << 2,
      ) === 0
    )
  }

  parentAt(place: number): number {
    return this.#word(place, KEPT_PARENT)
  }

  wdAt(place: number): number {
    return this.#word(place, KEPT_WD)
  }

  inoAt(place: number): number {
    const isLong = (this.#word(place, KEPT_CLASS) & IS_LONG) !== 0
    return (isLong ? this.#word(place, INO_ABOVE) * 2 ** 32 : 0) + (this.#word(place, KEPT_INO) >>> 0)
  }

  /** See {@link ownerKey}. */
  ownerAt(place: number): number {
    const kind = this.#word(place, KEPT_CLASS) >>> CLASS_SHIFT
    const [mode = 0, uid = 0, gid = 0] = this.#classes.slice(kind * CLASS_FIELDS.length + OWNER_FIELDS)
    return ownerKey(mode, uid, gid)
  }

  /** Returns the name as a key: see name_key.ts. */
  nameAt(place: number): string {
    const { block, start, end } = this.#nameBounds(place)
    const kind = this.#word(place, KEPT_CLASS) >>> CLASS_SHIFT
    const isAscii = ((this.#classes[kind * CLASS_FIELDS.length] as number) & NAME_IS_ASCII) !== 0
    return nameAt(block.bytes, start, end, isAscii)
  }

  /** Returns the non-directory entries, packed as packed_entries.ts has it. */
  filesAt(place: number): string {
    const { block, end } = this.#nameBounds(place)
    return block.bytes.toString('latin1', end, end + this.#word(place, KEPT_FILES))
  }

  #nameBounds(place: number): { block: Block; start: number; end: number } {
    const { block, start } = this.#find(place)
    const word = block.i32[start + KEPT_CLASS] as number
    const name = (start + (word & IS_LONG ? LONG_HEAD : KEPT_HEAD)) << 2
    return { block, start: name, end: name + (word & NAME_MASK) }
  }

  #word(place: number, index: number): number {
    const { block, start } = this.#find(place)
    return block.i32[start + index] as number
  }

  #find(place: number): { block: Block; start: number } {
    let low = 0
    for (let high = this.#starts.length; high - low > 1; ) {
      const middle = (low + high) >> 1
      if ((this.#starts[middle] as number) <= place) low = middle
      else high = middle
    }
    return { block: this.#blocks[low] as Block, start: place - (this.#starts[low] as number) }
  }

  /** Reserves this many words in the last block, and returns where they begin. */
  #reserve(words: number): number {
    const last = this.#blocks.at(-1)
    if (last === undefined || this.#used + words > last.i32.length) {
      this.#trim()
      this.#starts.push((this.#starts.at(-1) ?? 0) + (this.#blocks.at(-1)?.i32.length ?? 0))
      this.#blocks.push(blockOf(Math.max(words, BLOCK_WORDS)))
      this.#used = 0
    }
    const start = this.#used
    this.#used += words
    return start
  }

  #trim(): void {
    const last = this.#blocks.at(-1)
    if (last === undefined || last.i32.length - this.#used < BLOCK_WORDS / 8) return
    const trimmed = blockOf(this.#used)
    trimmed.i32.set(last.i32.subarray(0, this.#used))
    this.#blocks[this.#blocks.length - 1] = trimmed
  }

  /** Returns the number of a record's class; undefined: there are too many classes. */
  #classAt(i32: Int32Array, from: number): number | undefined {
    if (this.#classes.length > 0 && this.#isOfClass(this.#lastClass, i32, from)) return this.#lastClass
    const fields = CLASS_FIELDS.map((each) => field(i32, from, each))
    const key = fields.join(' ')
    let kind = this.#classOf.get(key)
    if (kind === undefined) {
      kind = this.#classOf.size
      if (kind === MOST_CLASSES) return undefined
      this.#classOf.set(key, kind)
      this.#classes.push(...fields)
    }
    this.#lastClass = kind
    return kind
  }

  #isOfClass(kind: number, i32: Int32Array, from: number): boolean {
    const first = kind * CLASS_FIELDS.length
    for (let i = 0; i < CLASS_FIELDS.length; i++)
      if (this.#classes[first + i] !== field(i32, from, CLASS_FIELDS[i] as number)) return false
    return true
  }
}

function field(i32: Int32Array, from: number, offset: number): number {
  return i32[from + (offset >> 2)] as number
}

function blockOf(words: number): Block {
  const bytes = Buffer.allocUnsafeSlow(words * 4)
  return { bytes, i32: new Int32Array(bytes.buffer, bytes.byteOffset, words) }
}
