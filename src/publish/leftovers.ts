import { codeOf } from '../mounts/call_error.ts'
import { type Calls, LOCK_EX, LOCK_NB } from '../mounts/calls.ts'
import type { HeldDirectory } from '../mounts/held.ts'

/** Entries that are made ready beside what they will replace. The dot hides them, and no pattern for content (*.conf) has them. */
export const TEMPORARY_PREFIX = '.inotify-bridge.tmp-'
/** Of a symlink: it cannot be locked, so a temporary file of the same name without this is locked for it. */
export const LINK_SUFFIX = '.link'
const TEMPORARY = /^\.inotify-bridge\.tmp-[0-9a-f]{12}(\.link)?$/

const OVERLAY_MAGIC = 0x794c7630
/** ns after which nobody is writing it any more, where locks do not tell. */
const ABANDONED_AFTER = 10n * 60n * 1_000_000_000n

/** Takes the lock that says "I am at it", which the kernel gives back however the process ends, in whatever container. */
export async function tryLock(calls: Calls, fd: number): Promise<'ours' | 'taken' | 'no locks here'> {
  try {
    await calls.lock(fd, LOCK_EX | LOCK_NB)
    return 'ours'
  } catch (error) {
    return codeOf(error) === 'EAGAIN' ? 'taken' : 'no locks here'
  }
}

/**
 * Removes what publishers left that were killed. Fails at none: somebody else's may be beyond our rights, and what is to be published
 * now does not depend on it.
 *
 * @param now the file system's time in ns: a server's clock is not ours
 * @param mine a name that is in use
 */
export async function removeLeftovers(directory: HeldDirectory, now: bigint, mine = ''): Promise<void> {
  const names = (await directory.names().catch(() => [])).map(String)
  const found = names.filter((name) => TEMPORARY.test(name) && name !== mine)
  if (found.length === 0) return
  const locksTell = await areLocksKnownToAll(directory)
  for (const name of found) {
    await removeIfLeft(directory, name, locksTell, now).catch(() => {})
  }
}

async function removeIfLeft(
  directory: HeldDirectory,
  name: string,
  locksTell: boolean,
  now: bigint,
): Promise<void> {
  const { calls } = directory
  if (name.endsWith(LINK_SUFFIX)) {
    // It goes with the file that is locked for it, which is there before it and after it.
    const isOwned = await directory.lstat(name.slice(0, -LINK_SUFFIX.length)).then(
      () => true,
      () => false,
    )
    if (!isOwned) await calls.unlink(directory.at(name))
    return
  }
  const stat = await directory.lstat(name)
  if (!stat.isFile()) return
  const isOld = now - stat.ctimeNs > ABANDONED_AFTER
  // To read only: closing it must not be an IN_CLOSE_WRITE of the name that it may have by then.
  const file = await directory.file(name).catch(() => undefined)
  try {
    const lock = file === undefined ? 'no locks here' : await tryLock(calls, file.fd)
    if (lock === 'taken') return
    if (!isOld && !(lock === 'ours' && locksTell)) return
    await calls.unlink(directory.at(name + LINK_SUFFIX)).catch(() => {})
    await calls.unlink(directory.at(name))
  } finally {
    await file?.[Symbol.asyncDispose]()
  }
}

/** Not so where other kernels write as well: virtiofs and FUSE keep locks to themselves by default, and so does NFS with `nolock`. */
async function areLocksKnownToAll({ calls, fd, revalidates }: HeldDirectory): Promise<boolean> {
  return !revalidates || (await calls.fileSystem(fd)) === OVERLAY_MAGIC
}
