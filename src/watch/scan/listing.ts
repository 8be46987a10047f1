import { constants } from 'node:os'
import { isShortageErrno } from '../report/watch_error.ts'
import { type Entries, type LookedAt, NO_STAT, ownerKey, type Stat } from './entry.ts'
import { EntryReader, hasChangedSince, nameAt, unpack } from './packed_entries.ts'

const { ENAMETOOLONG, ENOENT, ENOTDIR, ELOOP } = constants.errno
// Not ESTALE: a server may know a directory no more, or not just now, whose name is still there.
const GONE = new Set([-ENOENT, -ENOTDIR, -ELOOP])

// The fields of a record, as native/record/record.cc lays them out; little-endian.
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
const UID = 52
const GID = 56
const NAME_BYTES = 60
const FILES_COUNT = 64
const FILES_BYTES = 68
const SUBDIRS_BYTES = 76
const NAME = 80

const BOUNDARY = 1
const NAME_IS_ASCII = 4
const VANISHED = 8
const UNCHANGED = 32

const NO_PARENT = -1

/** Whole records, as the walker hands them over. */
class Chunk {
  readonly bytes: Buffer
  // The same memory: records are aligned, and the addon is built for little-endian machines alone.
  readonly i32: Int32Array
  readonly f64: Float64Array

  constructor(bytes: Buffer) {
    this.bytes = bytes
    this.i32 = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
    this.f64 = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8)
  }
}

/** The walker's findings at one directory. */
export class Listing {
  /** Requests have the numbers from 0, directories found below them the next. */
  readonly id: number
  /** The id of the directory that this one is in; undefined for a request's own. */
  readonly parent: number | undefined
  /** The watch, 0: none was asked for, or -errno of inotify_add_watch(2). */
  readonly wd: number
  /** 0, or -errno of opening or reading it; then the entries are not all there are. */
  readonly error: number
  readonly #flags: number
  readonly #chunk: Chunk
  readonly #at: number

  constructor(chunk: Chunk, at: number) {
    this.#chunk = chunk
    this.#at = at
    const parent = this.#int(PARENT)
    this.id = this.#int(ID)
    this.parent = parent === NO_PARENT ? undefined : parent
    this.wd = this.#int(WD)
    this.error = this.#int(ERROR)
    this.#flags = this.#int(FLAGS)
  }

  /** True: the directory is not there any more, or is no directory. An event says so, or will. */
  get isGone(): boolean {
    return GONE.has(this.error)
  }

  /** True: the process or the system was short of something, which says nothing of the directory. */
  get isShort(): boolean {
    return isShortageErrno(-this.error)
  }

  /** True: the path is longer than the walker goes, and the directory was neither watched nor listed. */
  get isTooDeep(): boolean {
    return this.error === -ENAMETOOLONG
  }

  /** True: another mount begins here, and the directory was neither watched nor listed. */
  get isBoundary(): boolean {
    return (this.#flags & BOUNDARY) !== 0
  }

  /** True: a name vanished while the walker looked at it. The listing may not show where it went. */
  get isMoving(): boolean {
    return (this.#flags & VANISHED) !== 0
  }

  /** True: it is watched and was listed as a whole, and no other mount begins here. */
  get isPlain(): boolean {
    return this.error === 0 && this.wd > 0 && !this.isBoundary && !this.isMoving
  }

  /** True: the directory is as it was last taken in, and its entries are left out; something below it has changed. */
  get isUnchanged(): boolean {
    return (this.#flags & UNCHANGED) !== 0
  }

  get ino(): number {
    return this.#double(INO)
  }

  get mountId(): number {
    return this.#double(MOUNT_ID)
  }

  /** The directory's mode and owner; the other fields are 0, as its entries tell of them. */
  get owner(): Stat {
    const [mode, uid, gid] = [MODE, UID, GID].map((offset) => this.#int(offset) >>> 0)
    return { ...NO_STAT, mode: mode as number, uid: uid as number, gid: gid as number }
  }

  /** The directory's mode and owner as one number: see {@link ownerKey}. */
  get ownerKey(): number {
    return ownerKey(this.#int(MODE), this.#int(UID), this.#int(GID))
  }

  /** Identifies the directory, whatever its path: a mount shows the same one under another. */
  get identity(): string {
    return `${this.mountId} ${this.#int(DEVICE)}:${this.#int(DEVICE + 4)} ${this.ino}`
  }

  get name(): string {
    const start = this.#at + NAME
    return nameAt(this.#chunk.bytes, start, start + this.nameBytes, this.isAsciiNamed)
  }

  get nameBytes(): number {
    return this.#int(NAME_BYTES)
  }

  get isAsciiNamed(): boolean {
    return (this.#flags & NAME_IS_ASCII) !== 0
  }

  /** The bytes of the entries that are no directories. */
  get filesBytes(): number {
    return this.#int(FILES_BYTES)
  }

  /** The bytes of the entries that are directories. */
  get subdirectoriesBytes(): number {
    return this.#int(SUBDIRS_BYTES)
  }

  /** The bytes of the name, of the files and of the subdirectories, padded with zeros to whole words. */
  get words(): Int32Array {
    const start = (this.#at + NAME) >> 2
    const bytes = this.nameBytes + this.filesBytes + this.subdirectoriesBytes
    return this.#chunk.i32.subarray(start, start + ((bytes + 3) >>> 2))
  }

  get filesCount(): number {
    return this.#int(FILES_COUNT)
  }

  /** The entries that are no directories, packed as packed_entries.ts has it. */
  get packedFiles(): string {
    const start = this.#filesAt
    return this.#chunk.bytes.toString('latin1', start, start + this.filesBytes)
  }

  /** Returns true if any entry that is no directory has changed since then, in ms since the epoch. */
  hasFilesSince(since: number): boolean {
    const start = this.#filesAt
    return hasChangedSince(this.#chunk.bytes, start, start + this.filesBytes, since)
  }

  /** Sets `seen` of each of the names that were asked for: see {@link WalkRequest.names}. The listing has directories apart, in the same order. */
  answer(names: readonly LookedAt[]): void {
    const start = this.#filesAt
    const between = start + this.filesBytes
    const files = new EntryReader(this.#chunk.bytes, start, between)
    const directories = new EntryReader(this.#chunk.bytes, between, between + this.subdirectoriesBytes)
    for (const each of names) {
      const reader =
        each.name === files.name ? files : each.name === directories.name ? directories : undefined
      each.seen = reader?.entry() ?? null
      reader?.advance()
    }
    // The listing has a name that was not asked for, or another order: names taken for missing may be there.
    if (files.name !== undefined || directories.name !== undefined)
      for (const each of names) each.seen = undefined
  }

  /** All entries. */
  entries(): Entries {
    const start = this.#filesAt
    const end = start + this.filesBytes + this.subdirectoriesBytes
    return unpack(this.#chunk.bytes, start, end)
  }

  /** Returns the entries that are directories. */
  subdirectories(): Entries {
    const start = this.#filesAt + this.filesBytes
    return unpack(this.#chunk.bytes, start, start + this.subdirectoriesBytes)
  }

  get #filesAt(): number {
    return this.#at + NAME + this.nameBytes
  }

  #int(offset: number): number {
    return this.#chunk.i32[(this.#at + offset) >> 2] as number
  }

  #double(offset: number): number {
    return this.#chunk.f64[(this.#at + offset) >> 3] as number
  }
}

/** The directory that a root's path leads to. */
export type RootFinding = Pick<Listing, 'error' | 'isShort' | 'isGone' | 'identity' | 'ino'>

/** The listings in a buffer of records, in their order: a directory comes before those in it. */
export function* listingsIn(records: Buffer): Generator<Listing> {
  const chunk = new Chunk(records)
  for (let at = 0; at < records.length; at += chunk.i32[(at + SIZE) >> 2] as number)
    yield new Listing(chunk, at)
}
