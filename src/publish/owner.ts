import type { InotifyError } from '../errors.ts'
import { CallError, codeOf } from '../mounts/call_error.ts'
import type { FileStat } from '../mounts/file_stat.ts'
import type { HeldFile } from '../mounts/held.ts'
import { failure } from './failure.ts'

/** The user whose rights system calls have. */
export function effectiveUser(): bigint {
  return BigInt(process.geteuid?.() ?? 0)
}

/**
 * The mode of a copy. A group that the original's bits are not about, as the copy has where its directory or its maker says so, gets no more
 * than everybody does.
 */
export function modeOfCopy(mode: number, group: bigint | undefined, copy: FileStat): number {
  return group === undefined || group === copy.gid ? mode : mode & (~0o070 | ((mode & 0o007) << 3))
}

/** Whether only its owner can reach into a directory. With an ACL the group's bits are its mask, and so say the same. */
export function isPrivate({ mode }: FileStat): boolean {
  return (mode & 0o077n) === 0n
}

/** Whether users other than this one and root may rename what this user makes in a directory, and exchange it so. */
export function mayOthersRename({ uid, mode }: FileStat): boolean {
  const isOpen = (mode & 0o022n) !== 0n && (mode & 0o1000n) === 0n
  return isOpen || (uid !== 0n && uid !== effectiveUser())
}

/**
 * Whether another user has laid an entry in a sticky directory that others may write to, such as /tmp, as proc(5) has it of
 * protected_symlinks and protected_regular: whoever that is can exchange it at any time, and nobody else can. Others are a group, too.
 */
export function isLaidByAnother(entry: FileStat, directory: FileStat): boolean {
  const isShared = (directory.mode & 0o1000n) !== 0n && (directory.mode & 0o022n) !== 0n
  return isShared && entry.uid !== directory.uid && entry.uid !== effectiveUser()
}

export function hasOwner({ opened }: HeldFile, { uid, gid }: FileStat): boolean {
  return opened.uid === uid && opened.gid === gid
}

/** Gives a new file the owner and group of another, if they differ. */
export async function keepOwner(file: HeldFile, old: FileStat, shown: string): Promise<void> {
  if (hasOwner(file, old)) return
  const { uid, gid } = old
  try {
    await file.calls.chown(file.fd, Number(uid), Number(gid))
  } catch (error) {
    // EPERM without CAP_CHOWN, EINVAL for an id that this user namespace does not know.
    if (!(error instanceof CallError) || !['EPERM', 'EINVAL'].includes(codeOf(error))) throw error
    const hint = `its owner ${uid}:${gid} could not be kept: run as that user or with CAP_CHOWN, or remove the file first`
    throw failure(-error.errno, 'chown', shown, hint)
  }
}

/** Of what is at the name of something new, and cannot be shown to be that. */
export function notProven(shown: string): InotifyError {
  const hint =
    'its owner could not be kept: the symlink that was made for it is not provably that one any more, or the mount decides on owners and modes'
  return failure('EPERM', 'chown', shown, hint)
}
