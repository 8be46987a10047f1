import type { FileStat } from './file_stat.ts'

type Owned = Pick<FileStat, 'uid' | 'mode'>

/** The user whose rights system calls have. */
export function effectiveUser(): bigint {
  return BigInt(process.geteuid?.() ?? 0)
}

/** Returns true for root's and this user's own entries, against which there is no protection. */
export function isTrusted({ uid }: Pick<FileStat, 'uid'>): boolean {
  return uid === 0n || uid === effectiveUser()
}

/** Returns true if this user made the entry of a descriptor, and nobody else can have changed it since. */
export function isOwn({ uid, mode }: Owned): boolean {
  return uid === effectiveUser() && (mode & 0o022n) === 0n
}

/** Returns true if only the owner can reach into a directory. With an ACL the group's bits are its mask, and so say the same. */
export function isPrivate({ mode }: Pick<FileStat, 'mode'>): boolean {
  return (mode & 0o077n) === 0n
}

/** Returns true if users other than this one and root may rename, and so exchange, this user's entries in a directory. */
export function mayOthersRename(directory: Owned): boolean {
  const { mode } = directory
  const isOpen = (mode & 0o022n) !== 0n && (mode & 0o1000n) === 0n
  return isOpen || !isTrusted(directory)
}

/**
 * Returns true if another user has laid an entry in a sticky directory that others (a group, too) may write to, such as /tmp: see
 * protected_symlinks and protected_regular in proc(5). That user can exchange the entry at any time, and nobody else can.
 */
export function isLaidByAnother(entry: Pick<FileStat, 'uid'>, directory: Owned): boolean {
  const isShared = (directory.mode & 0o1000n) !== 0n && (directory.mode & 0o022n) !== 0n
  return isShared && entry.uid !== directory.uid && entry.uid !== effectiveUser()
}

/** Returns the mode for a copy with another group than the original's: the new group gets no more rights than everybody. */
export function withoutGroup(mode: number): number {
  return mode & (~0o070 | ((mode & 0o007) << 3))
}
