import { constants } from 'node:fs'
import { atOnce } from '../../mounts/syscalls/concurrency.ts'
import { DirectoryHandle, type HeldFile } from '../../mounts/syscalls/directory_handle.ts'
import { openToLock, tryLock } from '../../mounts/syscalls/file_lock.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { isPrivate } from '../../mounts/syscalls/ownership.ts'
import { AT_REMOVEDIR } from '../../mounts/syscalls/syscall_thread.ts'

/** Entries that are made ready beside what they will replace. The dot hides them, and no pattern for content (*.conf) has them. */
export const TEMPORARY_PREFIX = '.inotify-bridge.tmp-'
const TEMPORARY = /^\.inotify-bridge\.tmp-[0-9a-f]{12}$/
/** All that a work directory ever has in it. */
export const WORK_LINK = 'link'

/** How many names of a directory are looked at for leftovers: whoever may write to it may have made millions. */
const MOST_NAMES = 65_536
const OVERLAY_MAGIC = 0x794c7630
/** ns after which nobody is writing it any more, where locks do not tell. */
const ABANDONED_AFTER = 10n * 60n * 1_000_000_000n

/** What is taken for a leftover. */
export interface Leftover {
  /** The file system's time in ns: a server's clock is not ours. */
  readonly now: bigint
  /** Whose; what belongs to others may be anything, and is theirs to remove. */
  readonly owners: ReadonlySet<bigint>
  /** A name that is in use. */
  readonly mine?: string
}

/** Removes what publishers left that were killed. Fails at none: what is to be published now does not depend on it. */
export async function removeLeftovers(directory: DirectoryHandle, leftover: Leftover): Promise<void> {
  const names = (await directory.names(MOST_NAMES).catch(() => [])).map(String)
  const found = names.filter((name) => TEMPORARY.test(name) && name !== leftover.mine)
  if (found.length === 0) return
  const locksTell = await areLocksKnownToAll(directory)
  await atOnce(found, (name) => removeIfLeft(directory, name, locksTell, leftover).catch(() => {}))
}

async function removeIfLeft(
  directory: DirectoryHandle,
  name: string,
  locksTell: boolean,
  { now, owners }: Leftover,
): Promise<void> {
  const { calls } = directory
  await using entry = await directory.hold(name)
  if (!isTemporary(entry.opened, owners)) return
  const isOld = now - entry.opened.ctimeNs > ABANDONED_AFTER
  if (!isOld && !locksTell) return
  const lockable = await openLockable(entry, locksTell).catch(() => undefined)
  try {
    const lock = lockable === undefined ? 'no locks here' : await tryLock(calls, lockable.fd)
    if (lock === 'taken' || (lock !== 'ours' && !isOld)) return
    if (!entry.opened.isDirectory()) return await calls.unlink(directory.at(name))
    if (await emptyWorkDirectory(entry, directory)) await calls.unlink(directory.at(name), AT_REMOVEDIR)
  } finally {
    if (lockable !== undefined) calls.close(lockable.fd)
  }
}

/**
 * The very inode, and to read only: closing it must not be an IN_CLOSE_WRITE of the name that it may have by then. But a file where NFS may be, which
 * gives no lock of what only reads: rather that, of a file that nobody has changed for long, than one that is removed under a writer that was stopped.
 */
async function openLockable(entry: HeldFile, locksTell: boolean): Promise<Pick<HeldFile, 'fd'>> {
  const toRead = () =>
    entry.calls.open(`/proc/self/fd/${entry.fd}`, constants.O_RDONLY | constants.O_NONBLOCK)
  if (locksTell || entry.opened.isDirectory()) return await toRead()
  // A writer has given it its mode by the end, which may let nobody write.
  return await openToLock(entry).catch(toRead)
}

/**
 * Somebody may have given the name to a private directory of another use: one that holds anything but the link that is made there stays as
 * it is. Returns whether it is empty.
 */
async function emptyWorkDirectory(
  { calls, fd, opened }: HeldFile,
  { revalidates }: DirectoryHandle,
): Promise<boolean> {
  await using work = await DirectoryHandle.open(calls, `/proc/self/fd/${fd}`, revalidates)
  const names = (await work.names(2)).map(String)
  if (names.length === 0) return true
  if (names.length > 1 || names[0] !== WORK_LINK) return false
  await using link = await work.hold(WORK_LINK)
  const { uid, nlink } = link.opened
  if (!link.opened.isSymbolicLink() || uid !== opened.uid || nlink !== 1n) return false
  // Nobody but its owner can have put another one there since.
  await calls.unlink(work.at(WORK_LINK))
  return true
}

/** Whether an inode can be what a publisher makes ready: a name alone can have been given to anything. */
function isTemporary(stat: FileStat, owners: ReadonlySet<bigint>): boolean {
  if (!owners.has(stat.uid)) return false
  return stat.isFile() ? stat.nlink <= 1n : stat.isDirectory() && isPrivate(stat)
}

/** Not so where other kernels write as well: virtiofs and FUSE keep locks to themselves by default, and so does NFS with `nolock`. */
async function areLocksKnownToAll({ calls, fd, revalidates }: DirectoryHandle): Promise<boolean> {
  return !revalidates || (await calls.fileSystem(fd)) === OVERLAY_MAGIC
}
