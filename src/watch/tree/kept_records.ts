import type { Listing } from '../scan/listing.ts'
import { nameAt } from '../scan/packed_entries.ts'

// The layout of a kept record, in words: the parent's id, the wd, the lower half of the inode number, the head, the files; where there are subdirectories,
// their bytes. Then name, files and subdirectories as they came, padded with zeros to a whole word.
const PARENT = 0
const WD = 1
const INO = 2
const HEAD = 3
const FILES = 4
const SUBDIRS = 5

// The parts of the head: the bytes of the name, two flags, the upper half of the inode number.
const NAME_MASK = 0xff
const IS_ASCII = 0x100
const HAS_SUBDIRS = 0x200
const INO_SHIFT = 10

// The parts of the fifth word (FILES): the bytes of the files, the place of the owner in a list.
const OWNER_SHIFT = 20
const MOST_BYTES = 2 ** OWNER_SHIFT - 1
const MOST_OWNERS = 2 ** (32 - OWNER_SHIFT)

// A place is the number of a block, and the word at which the record begins in there.
const BLOCK_BITS = 16
const BLOCK_WORDS = 1 << BLOCK_BITS

/**
 * Keeps of a walk's listings what it takes to make directories of them, and to tell whether another walk has found the same: a third less than their
 * records. All lie on the mount on which the walk began. No device is kept: a watch that is still the same says that its inode is.
 */
export class KeptRecords {
  readonly #blocks: Int32Array[] = []
  // The number of words used in the last block.
  #used = 0
  #mountId = 0
  // The owner keys that occur: few, as a rule.
  readonly #owners: number[] = []

  /** Keeps what was found at a directory, and returns the place; undefined: it has too many files, or one owner too many. */
  keep(listing: Listing): number | undefined {
    const owner = this.#ownerOf(listing.ownerKey)
    const { parent = 0, filesBytes, subdirectoriesBytes, words } = listing
    if (owner === MOST_OWNERS || filesBytes > MOST_BYTES) return undefined
    this.#mountId = listing.mountId
    const head = headOf(listing)
    const start = this.#reserve(namesIn(head) + words.length)
    const block = this.#blocks.at(-1) as Int32Array
    block[start + PARENT] = parent
    block[start + WD] = listing.wd
    block[start + INO] = listing.ino
    block[start + HEAD] = head
    block[start + FILES] = (owner << OWNER_SHIFT) | filesBytes
    if (head & HAS_SUBDIRS) block[start + SUBDIRS] = subdirectoriesBytes
    block.set(words, start + namesIn(head))
    return ((this.#blocks.length - 1) << BLOCK_BITS) | start
  }

  /** Ends the keeping: the memory that was reserved for more records is given back. */
  seal(): void {
    const last = this.#blocks.pop()
    if (last !== undefined) this.#blocks.push(last.slice(0, this.#used))
  }

  /** Returns true if a listing says the same of the same directory. The ids of the two in their walks may differ. */
  isSame(place: number, listing: Listing): boolean {
    const [block, start] = this.#find(place)
    const head = headOf(listing)
    const isAlike =
      block[start + HEAD] === head &&
      block[start + WD] === listing.wd &&
      // A bind mount shows the same directory once more.
      this.#mountId === listing.mountId &&
      this.inoAt(place) === listing.ino &&
      ((block[start + FILES] as number) & MOST_BYTES) === listing.filesBytes &&
      (!(head & HAS_SUBDIRS) || block[start + SUBDIRS] === listing.subdirectoriesBytes) &&
      this.ownerAt(place) === listing.ownerKey
    if (!isAlike) return false
    const { words } = listing
    const names = start + namesIn(head)
    for (let i = 0; i < words.length; i++) if (block[names + i] !== words[i]) return false
    return true
  }

  parentAt(place: number): number {
    return this.#word(place, PARENT)
  }

  wdAt(place: number): number {
    return this.#word(place, WD)
  }

  inoAt(place: number): number {
    return (this.#word(place, HEAD) >>> INO_SHIFT) * 2 ** 32 + (this.#word(place, INO) >>> 0)
  }

  /** See {@link ownerKey}. */
  ownerAt(place: number): number {
    return this.#owners[this.#word(place, FILES) >>> OWNER_SHIFT] as number
  }

  /** Returns the name as a key: see name_key.ts. */
  nameAt(place: number): string {
    const head = this.#word(place, HEAD)
    return nameAt(this.#bytes(place), 0, head & NAME_MASK, (head & IS_ASCII) !== 0)
  }

  /** Returns the non-directory entries, packed as packed_entries.ts has it. */
  filesAt(place: number): string {
    const start = this.#word(place, HEAD) & NAME_MASK
    const bytes = this.#word(place, FILES) & MOST_BYTES
    return this.#bytes(place).toString('latin1', start, start + bytes)
  }

  /** Returns the bytes of the name and of all that follows it. */
  #bytes(place: number): Buffer {
    const [block, start] = this.#find(place)
    const names = start + namesIn(block[start + HEAD] as number)
    return Buffer.from(block.buffer, block.byteOffset + 4 * names)
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

  /** Returns the place of an owner key in the list; MOST_OWNERS: the list is full. */
  #ownerOf(key: number): number {
    const known = this.#owners.indexOf(key)
    if (known !== -1) return known
    return this.#owners.length === MOST_OWNERS ? MOST_OWNERS : this.#owners.push(key) - 1
  }
}

/** Returns the words of a kept record before its name. */
function namesIn(head: number): number {
  return head & HAS_SUBDIRS ? SUBDIRS + 1 : SUBDIRS
}

function headOf({ nameBytes, isAsciiNamed, subdirectoriesBytes, ino }: Listing): number {
  const flags = (isAsciiNamed ? IS_ASCII : 0) | (subdirectoriesBytes > 0 ? HAS_SUBDIRS : 0)
  // The number has 53 bits.
  return (Math.floor(ino / 2 ** 32) << INO_SHIFT) | flags | nameBytes
}
