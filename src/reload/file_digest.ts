import { constants } from 'node:fs'
import type { DirectoryHandle } from '../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../mounts/syscalls/file_stat.ts'
import { mostOf, readWhole } from '../volume/read_file.ts'
import { Torn } from '../volume/torn.ts'

/** A regular file as it was when it was opened. */
export interface FileDigest {
  readonly version: string
  readonly digest: string
}

/**
 * Reads a regular file, of the length that it had when it was opened. Throws {@link Torn} for one that is replaced or written meanwhile, which is not
 * read to its end: that may take long.
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
  await using file = await parent.file(name, mostOf(Number(size)))
  const version = versionOf(file.opened)
  const length = Number(file.opened.size)
  take(length)
  // Its ctime tells of a name that it has lost, too.
  const { digest } = await readWhole(file, length, (_, now) => {
    if (versionOf(now) !== version) throw new Torn('it changed while it was read')
  })
  return { version, digest }
}

/** Returns a text that differs once a file has been written to, or has become another. */
export function versionOf({ dev, ino, mode, size, mtimeNs, ctimeNs }: FileStat): string {
  return `${dev} ${ino} ${Number(mode) & constants.S_IFMT} ${size} ${mtimeNs} ${ctimeNs}`
}
