import { CallError } from '../../mounts/syscalls/call_error.ts'
import type { DirectoryHandle, HeldFile } from '../../mounts/syscalls/directory_handle.ts'
import { withoutGroup } from '../../mounts/syscalls/ownership.ts'
import type { StatKey } from '../../mounts/syscalls/stat_watch.ts'
import { textOf } from '../../name_key.ts'
import { failure } from '../../publish/failure.ts'
import { checkVersion, mostOf, openVersion, readWhole } from '../../volume/read_file.ts'
import { codeOf } from '../source/errors.ts'
import type { SourceHandle } from '../source/source_handle.ts'

/** An entry to be made in a directory of the target, and how people know it. */
export interface Place {
  readonly directory: DirectoryHandle
  readonly name: string
  readonly shown: string
}

/**
 * Copies a regular file of the source to a new file, with its owner and mode, and returns the SHA-256 of what it held.
 * Throws {@link Torn} if the file is not the version `key` before the read, nor after it unless `isReadAgain`; an {@link InotifyError}
 * if the copy cannot be written.
 *
 * @param isReadAgain whether {@link digestFile} will tell if it was written to meanwhile. Times do not, of a server that shows others while a file is
 *   read (rclone, of what it has not uploaded yet).
 */
export async function copyFile(
  from: SourceHandle,
  name: string,
  key: StatKey,
  to: Place,
  isReadAgain: boolean,
): Promise<string> {
  await using source = await openVersion(from, name, key, mostOf(Number(key.size)))
  // Only the user of the mirror may read the copy until its owner and mode are those of the source.
  await using copy = await onTarget(to.shown, to.directory.create(to.name, 0o600))
  let written: Promise<void> = Promise.resolve()
  const { digest, after } = await readWhole(source, Number(key.size), async (chunk) => {
    await written
    written = onTarget(to.shown, copy.calls.write(copy.fd, chunk))
    // Heard of below, unless the source has failed before.
    written.catch(() => {})
  })
  // The thread keeps the order.
  await Promise.all([written, copyAttributes(copy, to.shown, key)])
  if (!isReadAgain) checkVersion(after, key)
  return digest
}

/** The SHA-256 of a regular file that must be the version `key` before the read; else {@link Torn}. For who knows what it should be. */
export async function digestFile(from: SourceHandle, name: string, key: StatKey): Promise<string> {
  await using source = await openVersion(from, name, key, mostOf(Number(key.size)))
  return (await readWhole(source, Number(key.size), () => {})).digest
}

/**
 * Gives a file or directory of the target the owner and mode of the source's. Nobody gets a right by it that the source does not
 * give.
 */
export async function copyAttributes(file: HeldFile, shown: string, key: StatKey): Promise<void> {
  const { calls, fd } = file
  const { uid, gid, mode } = key
  const had = file.opened
  const wasOwned = had.uid === uid && had.gid === gid
  const owned = wasOwned || (await tryChown(file, uid, gid, shown))
  // The group's members may well read a file that is mirrored as this user's own; other groups are others.
  const hasGroup = owned || had.gid === gid || (await tryChown(file, had.uid, gid, shown))
  const given = hasGroup ? Number(mode) : withoutGroup(Number(mode))
  // A set-id program would have its rights in the target though the source's mount is nosuid, as FUSE always is for a user.
  // On a directory the bits give no rights, but would those of another group. chown(2) clears them, hence the order.
  const bits = given & (owned && had.isDirectory() ? 0o7777 : 0o777)
  const own = had.isDirectory() ? ownBits(Number(owned ? uid : had.uid)) : 0
  if (wasOwned && (Number(had.mode) & 0o7777) === (bits | own)) return
  await onTarget(shown, calls.chmod(fd, bits | own))
}

/** false where it is refused: EPERM without CAP_CHOWN, EINVAL for an id that this user namespace does not know. */
async function tryChown({ calls, fd }: HeldFile, uid: bigint, gid: bigint, shown: string): Promise<boolean> {
  try {
    await onTarget(shown, calls.chown(fd, Number(uid), Number(gid)))
    return true
  } catch (error) {
    if (['EPERM', 'EINVAL'].includes(codeOf(error))) return false
    throw error
  }
}

/**
 * The bits that the mirror needs itself to maintain a directory: without root's rights it could not write into a 0555 one. As the owner
 * it could take the right at any time, so the bits give nobody anything.
 */
function ownBits(owner: number): number {
  const user = process.geteuid?.()
  return user !== 0 && user === owner ? 0o700 : 0
}

const FULL = 'the target is full: give its tmpfs a larger size='
const HINTS: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', FULL],
  ['EDQUOT', FULL],
  ['EROFS', 'is it mounted read-only? The target needs a mount that can be written, best a tmpfs'],
  [
    'EACCES',
    "the mirror's user must be able to read, write and search the target: runAsUser or fsGroup in a pod, else chown",
  ],
  [
    'EPERM',
    'the target is immutable or append-only (lsattr -d shows it, chattr -i ends it), the entry is of another user in a sticky directory, or a seccomp filter refuses the call',
  ],
  ['ENOTDIR', 'a component of the path that should be a directory is none'],
])

/** Awaits calls on the target, whose failure becomes an {@link InotifyError}: errors of the source stay what they are. */
export async function onTarget<T>(shown: string, calls: Promise<T>): Promise<T> {
  try {
    return await calls
  } catch (error) {
    const hint = HINTS.get(codeOf(error)) ?? 'the target could not be written'
    throw error instanceof CallError ? failure(-error.errno, error.syscall, textOf(shown), hint) : error
  }
}
