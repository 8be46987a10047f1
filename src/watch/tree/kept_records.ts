import * as record from '../scan/chunk.ts'
import { ownerKey } from '../scan/entry.ts'
import { nameAt } from '../scan/packed_entries.ts'

// The layout of a kept record, in words: the parent's id, the wd, the lower half of the inode number, the class with the bytes of the name, the bytes of the
// files; where there are subdirectories, their bytes. Then name, files and subdirectories as they came, padded with zeros to a whole word.
const KEPT_PARENT = 0
const KEPT_WD = 1
const KEPT_INO = 2
const KEPT_CLASS = 3
const KEPT_FILES = 4
const KEPT_SUBDIRS = 5

// The parts of the fourth word (KEPT_CLASS).
const NAME_MASK = 0xff
const HAS_SUBDIRS = 0x100
const CLASS_SHIFT = 9
const MOST_CLASSES = 2 ** (31 - CLASS_SHIFT)

// The fields that the directories of a tree mostly share: where they lie, and who owns them. A class has the upper half of the inode number before these.
const CLASS_FIELDS = [
  record.FLAGS,
  record.MOUNT_ID,
  record.MOUNT_ID + 4,
  record.DEVICE,
  record.DEVICE + 4,
  record.MODE,
  record.UID,
  record.GID,
]

// A place is the number of a block, and the word at which the record begins in there.
const BLOCK_BITS = 16
const BLOCK_WORDS = 1 << BLOCK_BITS

/**
 * Keeps of the records of a walk what it takes to make directories of them, and to tell whether another walk has found the same: two thirds
 * of their bytes, and nothing of records that are not kept.
 */
export class KeptRecords {
  readonly #blocks: Int32Array[] = []
  // The number of words used in the last block.
  #used = 0
  readonly #classes: Array<readonly number[]> = []
  readonly #classOf = new Map<string, number>()
  #lastClass = 0

  /** Keeps the record that begins at this byte of a chunk, and returns its place; undefined: the record cannot be kept. */
  keep(chunk: record.Chunk, at: number): number | undefined {
    const { i32 } = chunk
    const from = at >> 2
    const kind = this.#classAt(chunk, at)
    if (kind === undefined) return undefined
    const word = (kind << CLASS_SHIFT) | lengthsOf(i32, from)
    const [head, words] = [headOf(word), wordsOf(i32, from)]
    const start = this.#reserve(head + words)
    const block = this.#blocks.at(-1) as Int32Array
    block[start + KEPT_PARENT] = field(i32, from, record.PARENT)
    block[start + KEPT_WD] = field(i32, from, record.WD)
    block[start + KEPT_INO] = chunk.inoAt(at)
    block[start + KEPT_CLASS] = word
    block[start + KEPT_FILES] = field(i32, from, record.FILES_BYTES)
    if (word & HAS_SUBDIRS) block[start + KEPT_SUBDIRS] = field(i32, from, record.SUBDIRS_BYTES)
    const names = from + (record.NAME >> 2)
    block.set(i32.subarray(names, names + words), start + head)
    return ((this.#blocks.length - 1) << BLOCK_BITS) | start
  }

  /** Ends the keeping: the memory that was reserved for more records is given back. */
  seal(): void {
    const last = this.#blocks.pop()
    if (last !== undefined) this.#blocks.push(last.slice(0, this.#used))
  }

  /** Returns true if a record says the same of the same directory. The ids of the two in their walks may differ. */
  isSame(place: number, chunk: record.Chunk, at: number): boolean {
    const { i32 } = chunk
    const from = at >> 2
    const [block, start] = this.#find(place)
    const word = block[start + KEPT_CLASS] as number
    const isAlike =
      block[start + KEPT_WD] === field(i32, from, record.WD) &&
      (word & (NAME_MASK | HAS_SUBDIRS)) === lengthsOf(i32, from) &&
      block[start + KEPT_FILES] === field(i32, from, record.FILES_BYTES) &&
      (!(word & HAS_SUBDIRS) || block[start + KEPT_SUBDIRS] === field(i32, from, record.SUBDIRS_BYTES)) &&
      this.inoAt(place) === chunk.inoAt(at) &&
      this.#isOfClass(word >>> CLASS_SHIFT, chunk, at)
    const words = wordsOf(i32, from)
    const [names, kept] = [from + (record.NAME >> 2), start + headOf(word)]
    for (let i = 0; isAlike && i < words; i++) if (block[kept + i] !== i32[names + i]) return false
    return isAlike
  }

  parentAt(place: number): number {
    return this.#word(place, KEPT_PARENT)
  }

  wdAt(place: number): number {
    return this.#word(place, KEPT_WD)
  }

  inoAt(place: number): number {
    const [above = 0] = this.#classOfPlace(place)
    return above * 2 ** 32 + (this.#word(place, KEPT_INO) >>> 0)
  }

  /** See {@link ownerKey}. */
  ownerAt(place: number): number {
    const [mode = 0, uid = 0, gid = 0] = this.#classOfPlace(place).slice(
      1 + CLASS_FIELDS.indexOf(record.MODE),
    )
    return ownerKey(mode, uid, gid)
  }

  /** Returns the name as a key: see name_key.ts. */
  nameAt(place: number): string {
    const [, flags = 0] = this.#classOfPlace(place)
    const [bytes, end] = this.#names(place)
    return nameAt(bytes, 0, end, (flags & record.NAME_IS_ASCII) !== 0)
  }

  /** Returns the non-directory entries, packed as packed_entries.ts has it. */
  filesAt(place: number): string {
    const [bytes, start] = this.#names(place)
    return bytes.toString('latin1', start, start + this.#word(place, KEPT_FILES))
  }

  /** Returns the bytes of the name and of all that follows it. */
  #names(place: number): [bytes: Buffer, end: number] {
    const [block, start] = this.#find(place)
    const word = block[start + KEPT_CLASS] as number
    return [Buffer.from(block.buffer, block.byteOffset + 4 * (start + headOf(word))), word & NAME_MASK]
  }

  #word(place: number, index: number): number {
    const [block, start] = this.#find(place)
    return block[start + index] as number
  }

  #find(place: number): [block: Int32Array, start: number] {
    return [this.#blocks[place >> BLOCK_BITS] as Int32Array, place & (BLOCK_WORDS - 1)]
  }

  /** Reserves this many words in the last block, and returns where they begin. A record that is longer than a block has one of its own. */
  #reserve(words: number): number {
    if (this.#used + words > (this.#blocks.at(-1)?.length ?? 0)) {
      this.#blocks.push(new Int32Array(Math.max(words, BLOCK_WORDS)))
      this.#used = 0
    }
    this.#used += words
    return this.#used - words
  }

  #classOfPlace(place: number): readonly number[] {
    return this.#classes[this.#word(place, KEPT_CLASS) >>> CLASS_SHIFT] as readonly number[]
  }

  /** Returns the number of a record's class; undefined: there are too many classes. */
  #classAt(chunk: record.Chunk, at: number): number | undefined {
    if (this.#classes.length > 0 && this.#isOfClass(this.#lastClass, chunk, at)) return this.#lastClass
    const fields = [inoAbove(chunk, at), ...CLASS_FIELDS.map((each) => field(chunk.i32, at >> 2, each))]
    const key = fields.join(' ')
    let kind = this.#classOf.get(key)
    if (kind === undefined) {
      kind = this.#classes.length
      if (kind === MOST_CLASSES) return undefined
      this.#classOf.set(key, kind)
      this.#classes.push(fields)
    }
    this.#lastClass = kind
    return kind
  }

  #isOfClass(kind: number, chunk: record.Chunk, at: number): boolean {
    const fields = this.#classes[kind] as readonly number[]
    if (fields[0] !== inoAbove(chunk, at)) return false
    for (let i = 0; i < CLASS_FIELDS.length; i++)
      if (fields[1 + i] !== field(chunk.i32, at >> 2, CLASS_FIELDS[i] as number)) return false
    return true
  }
}

function field(i32: Int32Array, from: number, offset: number): number {
  return i32[from + (offset >> 2)] as number
}

/** Returns the words of a kept record before its names. */
function headOf(word: number): number {
  return word & HAS_SUBDIRS ? KEPT_SUBDIRS + 1 : KEPT_SUBDIRS
}

function lengthsOf(i32: Int32Array, from: number): number {
  return (
    field(i32, from, record.NAME_BYTES) | (field(i32, from, record.SUBDIRS_BYTES) === 0 ? 0 : HAS_SUBDIRS)
  )
}

/** Returns the words that the name, files and subdirectories of a record take. */
function wordsOf(i32: Int32Array, from: number): number {
  const files = field(i32, from, record.NAME_BYTES) + field(i32, from, record.FILES_BYTES)
  return (files + field(i32, from, record.SUBDIRS_BYTES) + 3) >>> 2
}

/** Returns the upper half of the inode number. */
function inoAbove(chunk: record.Chunk, at: number): number {
  return Math.floor(chunk.inoAt(at) / 2 ** 32)
}
