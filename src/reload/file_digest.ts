import { constants } from 'node:fs'
import type { DirectoryHandle } from '../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../mounts/syscalls/file_stat.ts'
import { Torn } from '../volume/torn.ts'

const CHUNK = 256 * 1024

/** A regular file as it was when it was opened. */
export interface FileDigest {
  readonly version: string
  readonly digest: string
}

/**
 * Reads a regular file, of the length that it had when it was opened.
 *
 * @param size its size a moment ago: so many bytes are read as it is opened
 * @param take gets the size before more is read, and throws if it is too much
 */
export async function digestOf(
  parent: DirectoryHandle,
  name: string | Buffer,
  size: bigint,
  take: (bytes: number) => void,
): Promise<FileDigest> {
  // Loaded here: see contentsOf().
  const { createHash } = await import('node:crypto')
  let asked = mostOf(Number(size))
  await using file = await parent.file(name, asked)
  const version = versionOf(file.opened)
  let left = Number(file.opened.size)
  take(left)
  const hash = createHash('sha256')
  for (let chunk = file.content; ; chunk = await file.calls.read(file.fd, asked)) {
    if (chunk.length > left || (chunk.length === 0 && left > 0)) throw new Torn('its length is not its size')
    hash.update(chunk)
    left -= chunk.length
    // Fewer bytes than asked for mean the end of a regular file: read(2).
    if (left === 0 && chunk.length < asked) return { version, digest: hash.digest('base64') }
    // A replaced or written file is not read to its end, which may take long: another look finds the next version.
    if (versionOf(await parent.lstat(name)) !== version) throw new Torn('it changed while it was read')
    asked = mostOf(left)
  }
}

/** Returns the bytes to ask for: at most one more than there should be, so that a growing file is not read without end. */
function mostOf(left: number): number {
  return Math.min(CHUNK, left + 1)
}

/** Returns a text that differs once a file has been written to, or has become another. */
export function versionOf({ dev, ino, mode, size, mtimeNs, ctimeNs }: FileStat): string {
  return `${dev} ${ino} ${Number(mode) & constants.S_IFMT} ${size} ${mtimeNs} ${ctimeNs}`
}
