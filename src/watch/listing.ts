import type { Entries, Entry, Stat } from './entries.ts'
import { nameAt, unpack } from './packed.ts'

// A record's fields, as native/record.h lays them out; little-endian.
const SIZE = 0
const ID = 4
const PARENT = 8
const WD = 12
const ERROR = 16
const FLAGS = 20
const INO = 24
const MOUNT_ID = 32
const DEVICE = 40
const MODE = 48
const NAME_BYTES = 60
const FILES_COUNT = 64
const FILES_BYTES = 68
const SUBDIRS_BYTES = 76
const NAME = 80

const BOUNDARY = 1
const NAME_IS_ASCII = 4
const VANISHED = 8

const NO_PARENT = 0xffff_ffff

/** What the walk has found at one directory. Reads from the chunk that it came in, which is the walker's own: valid for one turn. */
export class Listing {
  readonly #chunk: Buffer
  readonly #at: number

  constructor(chunk: Buffer, at: number) {
    this.#chunk = chunk
    this.#at = at
  }

  /** Requests have the numbers from 0, directories found below them the next. */
  get id(): number {
    return this.#u32(ID)
  }

  /** The id of the directory that this one is in; undefined for a request's own. */
  get parent(): number | undefined {
    const parent = this.#u32(PARENT)
    return parent === NO_PARENT ? undefined : parent
  }

  /** The watch, 0: none was asked for, or -errno of inotify_add_watch(2). */
  get wd(): number {
    return this.#chunk.readInt32LE(this.#at + WD)
  }

  /** 0, or -errno of opening or reading it; then the entries are not all there are. */
  get error(): number {
    return this.#chunk.readInt32LE(this.#at + ERROR)
  }

  /** Another mount begins here: it was neither watched nor listed. */
  get isBoundary(): boolean {
    return (this.#u32(FLAGS) & BOUNDARY) !== 0
  }

  /** A name went while it was looked at: where to, the listing may not show. */
  get isMoving(): boolean {
    return (this.#u32(FLAGS) & VANISHED) !== 0
  }

  get ino(): number {
    return this.#chunk.readDoubleLE(this.#at + INO)
  }

  get mountId(): number {
    return this.#chunk.readDoubleLE(this.#at + MOUNT_ID)
  }

  /** Who may do what in it; the rest is its entries' affair. */
  get owner(): Stat {
    const [mode, uid, gid] = [this.#u32(MODE), this.#u32(MODE + 4), this.#u32(MODE + 8)]
    return { mode, uid, gid, nlink: 0, size: 0, mtime: 0, ctime: 0, ctimeMs: 0, btimeMs: 0 }
  }

  /** Of which directory this is, whatever its path: a mount shows the same one under another. */
  get identity(): string {
    return `${this.mountId} ${this.#u32(DEVICE)}:${this.#u32(DEVICE + 4)} ${this.ino}`
  }

  get name(): string {
    const isAscii = (this.#u32(FLAGS) & NAME_IS_ASCII) !== 0
    return nameAt(this.#chunk, this.#at + NAME, this.#at + NAME + this.#u32(NAME_BYTES), isAscii)
  }

  get filesCount(): number {
    return this.#u32(FILES_COUNT)
  }

  /** What is no directory, packed as packed.ts has it. */
  get packedFiles(): string {
    const start = this.#filesAt
    return this.#chunk.toString('latin1', start, start + this.#u32(FILES_BYTES))
  }

  /** All entries. */
  entries(): Entries {
    const entries: Entries = new Map()
    const take = (name: string, entry: Entry) => void entries.set(name, entry)
    const start = this.#filesAt
    unpack(this.#chunk, start, start + this.#u32(FILES_BYTES) + this.#u32(SUBDIRS_BYTES), take)
    return entries
  }

  get #filesAt(): number {
    return this.#at + NAME + this.#u32(NAME_BYTES)
  }

  #u32(offset: number): number {
    return this.#chunk.readUInt32LE(this.#at + offset)
  }
}

/** The listings in a chunk of records, in their order: a directory comes before those in it. */
export function* listingsIn(chunk: Buffer): Generator<Listing> {
  for (let at = 0; at < chunk.length; at += chunk.readUInt32LE(at + SIZE)) yield new Listing(chunk, at)
}
