import type { Kind } from '../report/change.ts'
import type { Entry } from '../scan/entry.ts'
import { ByteReader, ByteWriter, TornError } from './bytes.ts'
import type { Filesystem } from './filesystem.ts'
import { StatDecoder, StatEncoder } from './stat_coder.ts'

const MAGIC = Buffer.from('inotify-bridge snapshot\n')
const VERSION = 2
const DIGEST_BYTES = 32

const KINDS: readonly Kind[] = ['file', 'symlink', 'other', 'directory']
// What an entry says besides its kind, in its first byte.
const KIND_MASK = 3
const IS_ENTERED = 4
const HAS_STAT = 8
const IS_IN_DOUBT = 16
const IS_BASE = 32

/** What is saved of a name in a directory, or of a root that is a file. */
export interface SavedEntry {
  readonly entry: Entry
  /** It is a directory, and what is in it follows. */
  readonly isEntered: boolean
  /** It may have been changed after it was looked at: it is told as changed. */
  readonly isInDoubt: boolean
  /** Another mount begins here. `link`: what leads to it is this symlink, which is followed. */
  readonly base?: { readonly mountId: number; readonly link: Entry | undefined } | undefined
}

const ROOT_KINDS = ['directory', 'file', 'absent'] as const

/** What a root was when it was saved, and what was in it. 'absent': there was nothing yet, and nothing was told of it. */
export interface SavedRoot {
  /** A key: see name_key.ts. */
  readonly path: string
  readonly kind: (typeof ROOT_KINDS)[number]
  readonly filesystem: Filesystem
  /** For a {@link SectionReader}: of a file one entry; of a directory all, those of one level before those of the next. */
  readonly section: Buffer
}

export interface Saved {
  /** Of which boot of this machine it is; '' where nobody could say. */
  readonly bootId: string
  /** ms since the epoch: what was done before has been told, but for what is in doubt. */
  readonly toldUntil: number
  readonly roots: readonly SavedRoot[]
}

/** Writes what is in a root. */
export class SectionWriter {
  readonly #writer = new ByteWriter()
  readonly #stats = new StatEncoder(this.#writer)
  #ino = 0

  /** A directory: so many entries follow. */
  directory(entries: number): void {
    this.#writer.varint(entries)
  }

  entry(name: string, { entry, isEntered, isInDoubt, base }: SavedEntry): void {
    const { kind, ino, stat } = entry
    const writer = this.#writer
    writer.byte(
      KINDS.indexOf(kind) |
        (isEntered ? IS_ENTERED : 0) |
        (stat === undefined ? 0 : HAS_STAT) |
        (isInDoubt ? IS_IN_DOUBT : 0) |
        (base === undefined ? 0 : IS_BASE),
    )
    writer.key(name)
    writer.from(this.#ino, ino)
    this.#ino = ino
    if (stat !== undefined) this.#stats.add(stat)
    if (base === undefined) return
    writer.varint(base.mountId)
    writer.byte(base.link === undefined ? 0 : 1)
    if (base.link !== undefined) this.entry('', { entry: base.link, isEntered: false, isInDoubt: false })
  }

  /** What was written, which is not to be written to any more. */
  take(): Buffer {
    return this.#writer.take()
  }
}

/** Reads what a {@link SectionWriter} has written. Throws {@link TornError} for all else. */
export class SectionReader {
  readonly #reader: ByteReader
  readonly #stats: StatDecoder
  #ino = 0

  constructor(section: Buffer) {
    this.#reader = new ByteReader(section)
    this.#stats = new StatDecoder(this.#reader)
  }

  /** Of the next directory: how many entries follow. */
  directory(): number {
    return this.#reader.count()
  }

  entry(): SavedEntry & { name: string } {
    const reader = this.#reader
    const flags = reader.byte()
    const name = reader.key()
    const ino = reader.from(this.#ino)
    this.#ino = ino
    const stat = flags & HAS_STAT ? this.#stats.read() : undefined
    const entry = { kind: KINDS[flags & KIND_MASK] as Kind, ino, stat }
    const isEntered = (flags & IS_ENTERED) !== 0
    const isInDoubt = (flags & IS_IN_DOUBT) !== 0
    if (!(flags & IS_BASE)) return { name, entry, isEntered, isInDoubt }
    const mountId = reader.varint()
    const link = reader.byte() === 0 ? undefined : this.entry().entry
    return { name, entry, isEntered, isInDoubt, base: { mountId, link } }
  }

  /** Throws if there is more. */
  end(): void {
    if (!this.#reader.isAtEnd) throw new TornError('there is more than it says')
  }
}

/** What is written to the file, with what tells that it is whole. */
export async function encodeSaved({ bootId, toldUntil, roots }: Saved): Promise<Buffer> {
  const writer = new ByteWriter()
  writer.text(bootId)
  writer.double(toldUntil)
  writer.varint(roots.length)
  for (const { path, kind, filesystem, section } of roots) {
    writer.key(path)
    writer.byte(ROOT_KINDS.indexOf(kind))
    for (const each of [filesystem.type, filesystem.source, filesystem.device]) writer.text(each)
    writer.bytes(section)
  }
  const body = Buffer.concat([MAGIC, Buffer.of(VERSION), writer.take()])
  return Buffer.concat([body, await digestOf(body)])
}

/** What {@link encodeSaved} has made. Rejects with {@link TornError}: it is no such file, of another version, or not whole. */
export async function decodeSaved(bytes: Buffer): Promise<Saved> {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw new TornError('it is no snapshot')
  const version = bytes[MAGIC.length]
  const end = bytes.length - DIGEST_BYTES
  if (version !== undefined && version !== VERSION)
    throw new TornError(`it has format ${version}, and this library reads format ${VERSION}`)
  if (end <= MAGIC.length || !bytes.subarray(end).equals(await digestOf(bytes.subarray(0, end))))
    throw new TornError('it is torn, or was changed')
  const reader = new ByteReader(bytes.subarray(MAGIC.length + 1, end))
  const [bootId, toldUntil, count] = [reader.text(), reader.double(), reader.count()]
  const roots = Array.from({ length: count }, (): SavedRoot => {
    const path = reader.key()
    const kind = ROOT_KINDS[reader.byte()]
    if (kind === undefined || !path.startsWith('/')) throw new TornError('what it says is a root is none')
    const filesystem = { type: reader.text(), source: reader.text(), device: reader.text() }
    return { path, kind, filesystem, section: reader.bytes() }
  })
  if (!reader.isAtEnd) throw new TornError('there is more than it says')
  return { bootId, toldUntil, roots }
}

async function digestOf(bytes: Buffer): Promise<Buffer> {
  // Loaded here: its 5 MiB of memory are for those who save.
  const { createHash } = await import('node:crypto')
  return createHash('sha256').update(bytes).digest()
}
