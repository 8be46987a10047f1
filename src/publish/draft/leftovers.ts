import { constants } from 'node:fs'
import { atOnce } from '../../mounts/syscalls/concurrency.ts'
import type { DirectoryHandle, HeldFile } from '../../mounts/syscalls/directory_handle.ts'
import { openToLock, tryLock } from '../../mounts/syscalls/file_lock.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { lstatIfThere } from './place.ts'

/** The prefix of entries that are made ready beside their targets. The dot hides them, and no pattern for content (*.conf) matches. */
export const TEMPORARY_PREFIX = '.inotify-bridge.tmp-'
const TEMPORARY = /^\.inotify-bridge\.tmp-[0-9a-f]{12}$/
/** The end of the name of a symlink that is made ready beside a temporary file, which begins with the name of that file. */
export const LINK_SUFFIX = '.link'

/** The most names that are searched for leftovers: others who may write to the directory may have made millions. */
const MOST_NAMES = 65_536
const OVERLAY_MAGIC = 0x794c7630
/** The age in ns at which a temporary entry counts as abandoned if locks do not tell. */
const ABANDONED_AFTER = 10n * 60n * 1_000_000_000n

/** The criteria for a leftover. */
export interface Leftover {
  /** The file system's time in ns: a server's clock is not ours. */
  readonly now: bigint
  /** The owners whose entries are removed. Entries of others may be anything, and are theirs to remove. */
  readonly owners: ReadonlySet<bigint>
  /** A temporary name that is in use. */
  readonly mine?: string
}

/** Removes the leftovers of killed publishers. Ignores failures: the publication does not depend on it. */
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
    const link = await lstatIfThere(directory, name + LINK_SUFFIX)
    // One that has its new owner already is left, with the file by which it is found, to a call that knows that owner.
    if (link !== undefined && !(link.isSymbolicLink() && owners.has(link.uid))) return
    if (link !== undefined) await calls.unlink(directory.at(name + LINK_SUFFIX))
    await calls.unlink(directory.at(name))
  } finally {
    if (lockable !== undefined) calls.close(lockable.fd)
  }
}

/**
 * Opens the very inode, read-only: its close must not be an IN_CLOSE_WRITE of the name that it may have by then. Except where NFS may be, which locks
 * only writable files: such an event, for a file unchanged for long, is better than the removal of a stopped writer's file.
 */
async function openLockable(entry: HeldFile, locksTell: boolean): Promise<Pick<HeldFile, 'fd'>> {
  const toRead = () =>
    entry.calls.open(`/proc/self/fd/${entry.fd}`, constants.O_RDONLY | constants.O_NONBLOCK)
  if (locksTell) return await toRead()
  // A writer has set the mode by the end, which may let nobody write.
  return await openToLock(entry).catch(toRead)
}

/** Returns true if an inode can be a publisher's temporary entry: a name alone can have been given to anything. */
function isTemporary(stat: FileStat, owners: ReadonlySet<bigint>): boolean {
  return owners.has(stat.uid) && stat.isFile() && stat.nlink <= 1n
}

/** Returns false if other kernels write as well: virtiofs and FUSE keep locks to themselves by default, and so does NFS with `nolock`. */
async function areLocksKnownToAll({ calls, fd, revalidates }: DirectoryHandle): Promise<boolean> {
  return !revalidates || (await calls.fileSystem(fd)) === OVERLAY_MAGIC
}
