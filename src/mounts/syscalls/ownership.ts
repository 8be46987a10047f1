import type { FileStat } from './file_stat.ts'

type Owned = Pick<FileStat, 'uid' | 'mode'>

/** The user whose rights system calls have. */
export function effectiveUser(): bigint {
  return BigInt(process.geteuid?.() ?? 0)
}

/** Whether what a user does cannot be held against: root's and one's own. */
export function isTrusted({ uid }: Pick<FileStat, 'uid'>): boolean {
  return uid === 0n || uid === effectiveUser()
}

/** Whether what a descriptor shows was made by this user, and nobody else can have changed it since. */
export function isOwn({ uid, mode }: Owned): boolean {
  return uid === effectiveUser() && (mode & 0o022n) === 0n
}

/** Whether only its owner can reach into a directory. With an ACL the group's bits are its mask, and so say the same. */
export function isPrivate({ mode }: Pick<FileStat, 'mode'>): boolean {
  return (mode & 0o077n) === 0n
}

/** Whether users other than this one and root may rename what this user makes in a directory, and exchange it so. */
export function mayOthersRename(directory: Owned): boolean {
  const { mode } = directory
  const isOpen = (mode & 0o022n) !== 0n && (mode & 0o1000n) === 0n
  return isOpen || !isTrusted(directory)
}

/**
 * Whether another user has laid an entry in a sticky directory that others may write to, such as /tmp, as proc(5) has it of
 * protected_symlinks and protected_regular: whoever that is can exchange it at any time, and nobody else can. Others are a group, too.
 */
export function isLaidByAnother(entry: Pick<FileStat, 'uid'>, directory: Owned): boolean {
  const isShared = (directory.mode & 0o1000n) !== 0n && (directory.mode & 0o022n) !== 0n
  return isShared && entry.uid !== directory.uid && entry.uid !== effectiveUser()
}

/** The mode of a copy whose group is another than the original's, which its bits are about: it gets no more than everybody does. */
export function withoutGroup(mode: number): number {
  return mode & (~0o070 | ((mode & 0o007) << 3))
}
