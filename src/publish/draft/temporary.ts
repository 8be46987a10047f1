import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { codeOf } from '../../mounts/syscalls/call_error.ts'
import { atOnce } from '../../mounts/syscalls/concurrency.ts'
import type { DirectoryHandle, HeldFile } from '../../mounts/syscalls/directory_handle.ts'
import { openToLock, tryLock } from '../../mounts/syscalls/file_lock.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { effectiveUser, mayOthersRename } from '../../mounts/syscalls/ownership.ts'
import type { At } from '../../mounts/syscalls/syscall_thread.ts'
import { wasRemoved } from '../../volume/data_link.ts'
import { lstatIfThere } from './place.ts'

/** The prefix of entries that are made ready beside their targets. The dot hides them, and no pattern for content (*.conf) matches. */
const TEMPORARY_PREFIX = '.inotify-bridge.tmp-'
const TEMPORARY = /^\.inotify-bridge\.tmp-[0-9a-f]{12}$/
/** The end of the name of a symlink that is made ready beside a temporary file, which begins with the name of that file. */
const LINK_SUFFIX = '.link'

/** The most names that are searched for leftovers: others who may write to the directory may have made millions. */
const MOST_NAMES = 65_536
const OVERLAY_MAGIC = 0x794c7630
/** The age in ns at which a temporary entry counts as abandoned if locks do not tell. */
const ABANDONED_AFTER = 10n * 60n * 1_000_000_000n

/** The most times that another publisher may take the file for a leftover. */
const ATTEMPTS = 20

/** Another publisher has removed what was made ready. */
class Swept extends Error {
  override readonly name = 'Swept'
}

/**
 * Cleans up behind killed publishers, and has an entry made ready and given its name.
 *
 * @param givenTo the user who will own the entry, and may own a killed call's leftovers, too
 */
export async function withTemporary<T>(
  directory: DirectoryHandle,
  givenTo: bigint | undefined,
  make: (temporary: Temporary) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    let temporary: Temporary | undefined
    try {
      temporary = await makeRoomFor(directory, givenTo)
      const { name, owners, file } = temporary
      await removeLeftovers(directory, { now: file.opened.ctimeNs, owners, mine: name })
      return await make(temporary)
    } catch (error) {
      if (!(error instanceof Swept)) throw error
      if (attempt === ATTEMPTS) throw error.cause
    } finally {
      await temporary?.remove()
    }
  }
}

/** A name that nobody can foresee. */
export function temporaryName(): string {
  return TEMPORARY_PREFIX + randomBytes(6).toString('hex')
}

/** Makes the file, if need be after a cleanup: leftovers may be all that fills the file system. */
async function makeRoomFor(directory: DirectoryHandle, givenTo: bigint | undefined): Promise<Temporary> {
  try {
    return await Temporary.make(directory, givenTo)
  } catch (error) {
    if (!['ENOSPC', 'EDQUOT'].includes(codeOf(error))) throw error
    const owners = new Set([effectiveUser()])
    await removeLeftovers(directory, { now: BigInt(Date.now()) * 1_000_000n, owners })
    return await Temporary.make(directory, givenTo)
  }
}

/**
 * A new file beside the one that it will replace, readable only by its owner, and locked while it is written. Users who may rename in
 * the directory can exchange its name. So everything is done by its descriptor, which is that of the file made here.
 *
 * A symlink is made ready beside it, since no symlink can be locked: the file says that its writer lives, and when the symlink was made at the earliest.
 */
export class Temporary {
  readonly file: HeldFile
  readonly name: string
  /** The owners whose leftovers are removed. */
  readonly owners: ReadonlySet<bigint>
  readonly #directory: DirectoryHandle
  #isOpen = true
  #isThere = true
  #hasLink = false

  private constructor(directory: DirectoryHandle, name: string, file: HeldFile, givenTo: bigint | undefined) {
    this.#directory = directory
    this.name = name
    this.file = file
    // The first is the user to whom the file system gives our files: with NFS's root_squash not the effective user.
    this.owners = new Set([file.opened.uid, givenTo ?? file.opened.uid])
  }

  static async make(directory: DirectoryHandle, givenTo: bigint | undefined): Promise<Temporary> {
    for (let attempt = 1; ; attempt++) {
      const name = temporaryName()
      const file = await directory.create(name, 0o600)
      const lock = await tryLock(file.calls, file.fd)
      // Another publisher's cleanup can have come first, and is done with the file or about to be.
      if (attempt === ATTEMPTS || (lock !== 'taken' && !wasRemoved(file.opened, await file.stat())))
        return new Temporary(directory, name, file, givenTo)
      await file[Symbol.asyncDispose]()
    }
  }

  get #link(): At {
    return this.#directory.at(this.name + LINK_SUFFIX)
  }

  /**
   * Gives the file its name, in place of an entry with that name. Closes it before: else IN_CLOSE_WRITE would come for the new name, as
   * a second event behind IN_MOVED_TO. Closing unlocks it, so another publisher's cleanup could come between. Both calls are sent before
   * either is answered, and a file that is lost even so is made again.
   */
  async renameTo(name: string | Buffer): Promise<void> {
    this.#isOpen = false
    // Errors that a file system could report at close(2) came at fsync(2).
    this.file.calls.close(this.file.fd)
    await this.#giveName(this.#directory.at(this.name), name)
    this.#isThere = false
  }

  /** Makes a symlink, and opens it. */
  async makeLink(to: Buffer): Promise<HeldFile> {
    await this.file.calls.symlink(to, this.#link)
    this.#hasLink = true
    return await unlessSwept(this.#directory.hold(this.name + LINK_SUFFIX))
  }

  /**
   * Returns true if a descriptor is provably that of the symlink made here, and not of another that somebody has given its name: it was made
   * later than the file. Cannot be proved if the mount decides on owners, or tells no birth time.
   */
  async isOurs(link: HeldFile, text: Buffer): Promise<boolean> {
    if (!mayOthersRename(await this.#directory.stat())) return true
    const { uid, nlink, btimeNs } = link.opened
    const isNew = this.file.opened.btimeNs !== 0n && btimeNs >= this.file.opened.btimeNs
    if (!link.opened.isSymbolicLink() || uid !== this.file.opened.uid || nlink !== 1n || !isNew) return false
    return (await link.calls.readlinkBytes({ fd: link.fd, name: '' })).equals(text)
  }

  /** Gives the symlink its name likewise. */
  async renameLinkTo(name: string | Buffer): Promise<void> {
    await this.#giveName(this.#link, name)
    this.#hasLink = false
  }

  async remove(): Promise<void> {
    const { calls } = this.#directory
    // An entry that cannot be removed is a leftover. The file goes last, by which others find the symlink.
    if (this.#hasLink) await calls.unlink(this.#link).catch(() => {})
    if (this.#isThere) await calls.unlink(this.#directory.at(this.name)).catch(() => {})
    if (this.#isOpen) await this.file[Symbol.asyncDispose]()
  }

  async #giveName(from: At, name: string | Buffer): Promise<void> {
    await unlessSwept(this.#directory.calls.rename(from, this.#directory.at(name)))
  }
}

/** Awaits a call about what was made ready. If its name has gone, it has been swept. */
async function unlessSwept<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    throw codeOf(error) === 'ENOENT' ? new Swept('what was made ready is gone', { cause: error }) : error
  }
}

/** The criteria for a leftover. */
interface Leftover {
  /** The file system's time in ns: a server's clock is not ours. */
  readonly now: bigint
  /** The owners whose entries are removed. Entries of others may be anything, and are theirs to remove. */
  readonly owners: ReadonlySet<bigint>
  /** A temporary name that is in use. */
  readonly mine?: string
}

/** Removes the leftovers of killed publishers. Ignores failures: the publication does not depend on it. */
async function removeLeftovers(directory: DirectoryHandle, leftover: Leftover): Promise<void> {
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
