import { constants } from 'node:fs'
import type { DirectoryHandle } from '../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../mounts/syscalls/file_stat.ts'
import { Unsettled } from './contents.ts'

const CHUNK = 256 * 1024

/** A regular file as it was when it was opened. */
export interface FileDigest {
  readonly version: string
  readonly digest: string
}

/**
 * Reads a regular file as long as it was when it was opened.
 *
 * @param size that it had a moment ago: so many bytes are read as it is opened
 * @param take is told how many bytes that will be, before more are read: throws if they are too many
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
    if (chunk.length > left || (chunk.length === 0 && left > 0))
      throw new Unsettled('its length is not its size')
    hash.update(chunk)
    left -= chunk.length
    // Shorter than asked for is the end of a regular file: read(2).
    if (left === 0 && chunk.length < asked) return { version, digest: hash.digest('base64') }
    // What has been replaced, or written to, is not read to its end: that may take long, and a look is what finds the next version.
    if (versionOf(await parent.lstat(name)) !== version) throw new Unsettled('it changed while it was read')
    asked = mostOf(left)
  }
}

/** What is appended without end is not read without end: one byte more than there should be is enough. */
function mostOf(left: number): number {
  return Math.min(CHUNK, left + 1)
}

/** Another whenever a file has been written to, or has become another. */
export function versionOf({ dev, ino, mode, size, mtimeNs, ctimeNs }: FileStat): string {
  return `${dev} ${ino} ${Number(mode) & constants.S_IFMT} ${size} ${mtimeNs} ${ctimeNs}`
}
