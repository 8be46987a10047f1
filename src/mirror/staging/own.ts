import { randomBytes } from 'node:crypto'
import { InotifyError } from '../../errors.ts'
import type { DirectoryHandle } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { effectiveUser, isOwn, isPrivate } from '../../mounts/syscalls/ownership.ts'

/** Names of entries of a target that are a mirror's own and not content: others may have a file with a similar name, which is. */
export const STAGING_NAME: RegExp = /^\.inotify-bridge-[0-9a-f]{12}$/

/** A name that nobody can foresee. */
export function stagingName(): string {
  return `.inotify-bridge-${randomBytes(6).toString('hex')}`
}

/**
 * The mode of a mirror's notes. The sticky bit means nothing on a file, and no copy of a source's has it: nobody can move mirrored
 * content to where a note is looked for.
 */
export const NOTE_MODE = 0o1600

/** Returns true for a note of a mirror of this user's. */
export function isNote(stat: FileStat): boolean {
  return stat.isFile() && stat.uid === effectiveUser() && (Number(stat.mode) & 0o7777) === NOTE_MODE
}

/**
 * Throws EPERM unless a directory that was made with mode 0700, and then opened by its name, is one that was just made: whoever may write
 * the one above can have put another there in between, which would be opened up, given away or removed.
 *
 * @param mayBeUsed asked where there is something in it already: whether that can be only root's or this user's, as it is where another
 *   mirror has found the directory as soon as it was made
 */
export async function requireNew(
  above: DirectoryHandle,
  made: DirectoryHandle,
  shown: string,
  mayBeUsed: () => Promise<boolean> = async () => false,
): Promise<void> {
  const { opened } = made
  const isOurs = async () => isOwn(opened) || (await uidOfNew(above)) === opened.uid
  const isUnused = async () => (await made.names(1)).length === 0 || (await mayBeUsed())
  if (isPrivate(opened) && (await isOurs()) && (await isUnused())) return
  throw new InotifyError({
    errno: 'EPERM',
    syscall: 'mkdir',
    path: shown,
    hint: 'somebody has put a directory in the place of one that was just made: take from others the right to write there',
  })
}

/** Returns the owner of what this user makes. On NFS for root, and on a FUSE mount that maps users, that is somebody else. */
async function uidOfNew(directory: DirectoryHandle): Promise<bigint> {
  const name = stagingName()
  await using file = await directory.create(name, 0o600)
  await directory.calls.unlink(directory.at(name))
  return file.opened.uid
}
