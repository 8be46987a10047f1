import { codeOf } from '../mounts/syscalls/call_error.ts'
import type { DirectoryHandle, HeldFile, ReadFile } from '../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../mounts/syscalls/file_stat.ts'
import type { StatKey } from '../mounts/syscalls/stat_watch.ts'

const CHUNK = 256 * 1024

/** Something changed under its reader, who throws away all that was read so far: two versions may be mixed in it. */
export class Torn extends Error {
  override readonly name = 'Torn'
}

/** Returns the bytes to ask for: at most one more than there should be, which shows that somebody is writing. */
export function mostOf(left: number): number {
  return Math.min(CHUNK, left + 1)
}

/** Returns true if two keys are of one version. Nobody can set ctime, so a restored mtime does not deceive; reading changes no ctime. */
export function sameKey(a: StatKey, b: StatKey): boolean {
  return (
    a.ino === b.ino &&
    a.mode === b.mode &&
    a.uid === b.uid &&
    a.gid === b.gid &&
    a.size === b.size &&
    a.mtimeNs === b.mtimeNs &&
    a.ctimeNs === b.ctimeNs &&
    a.nlink === b.nlink
  )
}

/** Throws {@link Torn} unless a file is a version. */
export function checkVersion(now: StatKey, version: StatKey): void {
  if (!sameKey(now, version)) throw new Torn('the file changed while it was read')
}

/** Opens a regular file that must be a version, else {@link Torn}, and reads up to `most` bytes. */
export async function openVersion(
  directory: Pick<DirectoryHandle, 'file'>,
  name: string | Buffer,
  version: StatKey,
  most = 0,
): Promise<ReadFile> {
  const opening = directory.file(name, most)
  const file = await opening.catch((error) => {
    throw codeOf(error) === 'EPROTOTYPE' ? new Torn('it is no regular file any more') : error
  })
  try {
    checkVersion(file.opened, version)
    return file
  } catch (error) {
    await file[Symbol.asyncDispose]()
    throw error
  }
}

/**
 * Reads exactly the bytes that a file should have, of which {@link mostOf} have been read at its opening. Returns their SHA-256, and a stat of the file
 * after the last of them. Throws {@link Torn} for one more or one less: somebody is writing.
 *
 * @param take gets each chunk, and a stat of the file after it was read
 */
export async function readWhole(
  file: ReadFile,
  size: number,
  take: (chunk: Buffer, now: FileStat) => Promise<void> | void,
): Promise<{ digest: string; after: FileStat }> {
  // Loaded here: its 5 MiB of memory are not for those who came for the raw events.
  const { createHash } = await import('node:crypto')
  const hash = createHash('sha256')
  // All sizes together are within a limit on bytes, so stopping at the size caps what a growing file can cost.
  let left = size
  for (let [chunk, now] = [file.content, file.after]; ; [chunk, now] = await readOn(file, mostOf(left))) {
    // Shorter than asked for is the end of a regular file: read(2).
    const isEnd = chunk.length === left && chunk.length < mostOf(left)
    if (chunk.length > left || (chunk.length === 0 && left > 0)) throw new Torn('the length is not the size')
    hash.update(chunk)
    left -= chunk.length
    now ??= await file.stat()
    await take(chunk, now)
    if (isEnd) return { digest: hash.digest('base64'), after: now }
  }
}

/** Reads on, and stats the file behind that: the thread keeps the order. */
function readOn(file: HeldFile, most: number): Promise<[Buffer, FileStat]> {
  return Promise.all([file.calls.read(file.fd, most), file.stat()])
}
