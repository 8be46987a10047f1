import { randomBytes } from 'node:crypto'
import { codeOf } from '../../mounts/syscalls/call_error.ts'
import type { DirectoryHandle, HeldFile } from '../../mounts/syscalls/directory_handle.ts'
import { tryLock } from '../../mounts/syscalls/file_lock.ts'
import { effectiveUser, mayOthersRename } from '../../mounts/syscalls/ownership.ts'
import type { At } from '../../mounts/syscalls/syscall_thread.ts'
import { LINK_SUFFIX, removeLeftovers, TEMPORARY_PREFIX } from './leftovers.ts'

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
      if (attempt === ATTEMPTS || (lock !== 'taken' && (await file.stat()).nlink > 0n))
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
