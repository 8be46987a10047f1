import { constants } from 'node:os'
import { isShortageErrno } from '../report/watch_error.ts'
import {
  BOUNDARY,
  Chunk,
  DEVICE,
  ERROR,
  FILES_BYTES,
  FILES_COUNT,
  FLAGS,
  GID,
  ID,
  MODE,
  MOUNT_ID,
  NAME,
  NAME_BYTES,
  NAME_IS_ASCII,
  NO_PARENT,
  PARENT,
  SIZE,
  SUBDIRS_BYTES,
  UID,
  UNCHANGED,
  VANISHED,
  WD,
} from './chunk.ts'
import { type Entries, type Entry, type LookedAt, ownerKey, type Stat } from './entry.ts'
import { EntryReader, hasChangedSince, nameAt, unpack } from './packed_entries.ts'

const { ENAMETOOLONG, ENOENT, ENOTDIR, ELOOP } = constants.errno
// Not ESTALE: a server may know a directory no more, or not just now, whose name is still there.
const GONE = new Set([-ENOENT, -ENOTDIR, -ELOOP])

/** What the walk has found at one directory. */
export class Listing {
  readonly #chunk: Chunk
  readonly #at: number

  constructor(chunk: Chunk, at: number) {
    this.#chunk = chunk
    this.#at = at
  }

  /** Requests have the numbers from 0, directories found below them the next. */
  get id(): number {
    return this.#int(ID)
  }

  /** See {@link Taker}. */
  isTakenBy(taker: Taker | undefined): boolean {
    return taker?.take(this.#chunk, this.#at) === true
  }

  /** The id of the directory that this one is in; undefined for a request's own. */
  get parent(): number | undefined {
    const parent = this.#int(PARENT)
    return parent === NO_PARENT ? undefined : parent
  }

  /** The watch, 0: none was asked for, or -errno of inotify_add_watch(2). */
  get wd(): number {
    return this.#int(WD)
  }

  /** 0, or -errno of opening or reading it; then the entries are not all there are. */
  get error(): number {
    return this.#int(ERROR)
  }

  /** The directory is not there any more, or no directory: an event says so, or will. */
  get isGone(): boolean {
    return GONE.has(this.error)
  }

  /** The process or the system was out of something: that says nothing of the directory. */
  get isShort(): boolean {
    return isShortageErrno(-this.error)
  }

  /** Its path is longer than the walker goes: it was neither watched nor listed. */
  get isTooDeep(): boolean {
    return this.error === -ENAMETOOLONG
  }

  /** Another mount begins here: it was neither watched nor listed. */
  get isBoundary(): boolean {
    return (this.#int(FLAGS) & BOUNDARY) !== 0
  }

  /** A name went while it was looked at: where to, the listing may not show. */
  get isMoving(): boolean {
    return (this.#int(FLAGS) & VANISHED) !== 0
  }

  /** It is as it was when it was last taken in, and its entries are not told: something below it is otherwise. */
  get isUnchanged(): boolean {
    return (this.#int(FLAGS) & UNCHANGED) !== 0
  }

  get ino(): number {
    return this.#chunk.inoAt(this.#at)
  }

  get mountId(): number {
    return this.#double(MOUNT_ID)
  }

  /** Who may do what in it; the rest is its entries' affair. */
  get owner(): Stat {
    const [mode, uid, gid] = [MODE, UID, GID].map((offset) => this.#int(offset) >>> 0)
    return {
      mode: mode as number,
      uid: uid as number,
      gid: gid as number,
      nlink: 0,
      size: 0,
      mtime: 0,
      ctime: 0,
      ctimeMs: 0,
      btimeMs: 0,
    }
  }

  /** The same, to be compared: see {@link ownerKey}. */
  get ownerKey(): number {
    return ownerKey(this.#int(MODE), this.#int(UID), this.#int(GID))
  }

  /** Of which directory this is, whatever its path: a mount shows the same one under another. */
  get identity(): string {
    return `${this.mountId} ${this.#int(DEVICE)}:${this.#int(DEVICE + 4)} ${this.ino}`
  }

  get name(): string {
    const isAscii = (this.#int(FLAGS) & NAME_IS_ASCII) !== 0
    const start = this.#at + NAME
    return nameAt(this.#chunk.bytes, start, start + this.#int(NAME_BYTES), isAscii)
  }

  get filesCount(): number {
    return this.#int(FILES_COUNT)
  }

  /** What is no directory, packed as packed_entries.ts has it. */
  get packedFiles(): string {
    const start = this.#filesAt
    return this.#chunk.bytes.toString('latin1', start, start + this.#int(FILES_BYTES))
  }

  /** Whether what is no directory was changed from then on, ms since the epoch, any of it. */
  hasFilesSince(since: number): boolean {
    const start = this.#filesAt
    return hasChangedSince(this.#chunk.bytes, start, start + this.#int(FILES_BYTES), since)
  }

  /** Tells each of the names that were asked for what was seen there: see {@link WalkRequest.names}. Directories are apart, in the same order. */
  answer(names: readonly LookedAt[]): void {
    const start = this.#filesAt
    const between = start + this.#int(FILES_BYTES)
    const files = new EntryReader(this.#chunk.bytes, start, between)
    const directories = new EntryReader(this.#chunk.bytes, between, between + this.#int(SUBDIRS_BYTES))
    for (const each of names) {
      const reader =
        each.name === files.name ? files : each.name === directories.name ? directories : undefined
      each.seen = reader?.entry() ?? null
      reader?.advance()
    }
    // Something is there that was not asked for, or in another order: what was taken for missing may not be.
    if (files.name !== undefined || directories.name !== undefined)
      for (const each of names) each.seen = undefined
  }

  /** All entries. */
  entries(): Entries {
    const start = this.#filesAt
    return this.#unpack(start, start + this.#int(FILES_BYTES) + this.#int(SUBDIRS_BYTES))
  }

  /** Those that are directories. */
  subdirectories(): Entries {
    const start = this.#filesAt + this.#int(FILES_BYTES)
    return this.#unpack(start, start + this.#int(SUBDIRS_BYTES))
  }

  #unpack(start: number, end: number): Entries {
    const entries: Entries = new Map()
    const take = (name: string, entry: Entry) => void entries.set(name, entry)
    unpack(this.#chunk.bytes, start, end, take)
    return entries
  }

  get #filesAt(): number {
    return this.#at + NAME + this.#int(NAME_BYTES)
  }

  #int(offset: number): number {
    return this.#chunk.i32[(this.#at + offset) >> 2] as number
  }

  #double(offset: number): number {
    return this.#chunk.f64[(this.#at + offset) >> 3] as number
  }
}

/** Takes what it can of the records; the rest goes on as listings. */
export interface Taker {
  take(chunk: Chunk, at: number): boolean
}

/** The listings in a buffer of records, in their order: a directory comes before those in it. */
export function* listingsIn(records: Buffer, taker?: Taker): Generator<Listing> {
  const chunk = new Chunk(records)
  for (let at = 0; at < records.length; at += chunk.i32[(at + SIZE) >> 2] as number) {
    if (!taker?.take(chunk, at)) yield new Listing(chunk, at)
  }
}
