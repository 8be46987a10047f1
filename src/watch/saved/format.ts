import { promisify } from 'node:util'
import type { Entry } from '../scan/entry.ts'
import type { Filesystem } from './filesystem.ts'

const MAGIC = Buffer.from('inotify-bridge snapshot\n')
// Raise it with the form of packed entries (scan/packed_entries.ts), which are written as they are.
const VERSION = 4

/** The file is no snapshot, of another version, torn or changed. */
export class TornError extends Error {
  override readonly name = 'TornError'
}

/** The base of a mount: another mount begins at the directory, or a symlink that is followed leads there. */
export interface SavedBase {
  readonly mountId: number
  readonly link: Entry | undefined
}

/** A directory that was watched. */
export interface SavedDirectory {
  /** Index of the directory that this one is in, which comes before it; -1: the root. */
  readonly parent: number
  /** Its own name and entry, packed; '' for the root. */
  readonly self: string
  readonly base: SavedBase | undefined
  /** All other names in it, packed: see scan/packed_entries.ts. */
  entries: string
}

/** A root as it was saved, with its entries. 'absent': there was nothing yet, and nothing had been reported of the root. */
export type SavedRoot = {
  /** A key: see name_key.ts. */
  readonly path: string
  readonly filesystem: Filesystem
} & (
  | { readonly kind: 'directory'; readonly directories: readonly SavedDirectory[] }
  | { readonly kind: 'file'; readonly entry: Entry }
  | { readonly kind: 'absent' }
)

export interface Saved {
  /** The boot of this machine in which it was saved; '' if it is not known. */
  readonly bootId: string
  /** ms since the epoch: all changes before have been reported, but for what is in doubt. */
  readonly toldUntil: number
  readonly roots: readonly SavedRoot[]
}

/** Returns the bytes of the file, with zlib's checksum, which says that it is whole. */
export async function encodeSaved(saved: Saved): Promise<Buffer> {
  const { serialize } = await import('node:v8')
  const { deflate } = await import('node:zlib')
  const packed = await promisify<Buffer, object, Buffer>(deflate)(serialize(saved), { level: 1 })
  return Buffer.concat([MAGIC, Buffer.of(VERSION), packed])
}

/** Reads what {@link encodeSaved} has made. Rejects with {@link TornError} for all else. */
export async function decodeSaved(bytes: Buffer): Promise<Saved> {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw new TornError('it is no snapshot')
  const version = bytes[MAGIC.length]
  if (version !== undefined && version !== VERSION)
    throw new TornError(`it has format ${version}, and this library reads format ${VERSION}`)
  const { deserialize } = await import('node:v8')
  const { inflate } = await import('node:zlib')
  try {
    return deserialize(await promisify<Buffer, Buffer>(inflate)(bytes.subarray(MAGIC.length + 1)))
  } catch (error) {
    // Node.js reads what older versions of it have serialized, and not always what newer ones have.
    const { message } = error as Error
    throw new TornError(`it is torn, or was changed, or this Node.js cannot read it (${message})`)
  }
}
