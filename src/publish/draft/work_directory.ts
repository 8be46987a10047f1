import type { DirectoryHandle, HeldFile } from '../../mounts/syscalls/directory_handle.ts'
import { tryLock } from '../../mounts/syscalls/file_lock.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { effectiveUser, isPrivate } from '../../mounts/syscalls/ownership.ts'
import { AT_REMOVEDIR } from '../../mounts/syscalls/syscall_thread.ts'
import { failure } from '../failure.ts'
import { openToRead } from './durable.ts'
import { WORK_LINK } from './leftovers.ts'
import { giveName, type Ready, Swept, temporaryName, unlessSwept } from './ready.ts'

/**
 * A directory of mode 0700 beside the entry to replace, in which a symlink is made ready. open(2) makes and opens a file at once, but a
 * symlink is made first and opened by its name behind that: in here nobody else can exchange it in between.
 *
 * Users who may rename in the directory above can exchange the work directory too. So it is held, and used by its descriptor alone. The
 * link is trusted only if that descriptor shows that only we can reach into the directory.
 */
export class WorkDirectory implements Ready {
  readonly name: string
  readonly owners: ReadonlySet<bigint> = new Set([effectiveUser()])
  readonly #directory: DirectoryHandle
  readonly #held: DirectoryHandle
  readonly #lock: number | undefined
  #hasLink = false

  private constructor(
    directory: DirectoryHandle,
    name: string,
    held: DirectoryHandle,
    lock: number | undefined,
  ) {
    this.#directory = directory
    this.name = name
    this.#held = held
    this.#lock = lock
  }

  static async make(directory: DirectoryHandle): Promise<WorkDirectory> {
    const { calls } = directory
    const name = temporaryName()
    await calls.mkdir(directory.at(name), 0o700)
    // Another entry may have its name by now.
    const held = await unlessSwept(directory.directory(name), ['ENOENT', 'ENOTDIR', 'ELOOP'])
    const lock = await openToRead(held).catch(() => undefined)
    const work = new WorkDirectory(directory, name, held, lock)
    // Another publisher's cleanup has come first.
    if (lock !== undefined && (await tryLock(calls, lock)) === 'taken') {
      await work.remove()
      const hint = 'another program locks whatever directory is made ready there'
      const cause = failure('EBUSY', 'flock', await directory.realpath(), hint)
      throw new Swept('the work directory is being removed', { cause })
    }
    return work
  }

  get opened(): FileStat {
    return this.#held.opened
  }

  /** Makes a symlink, and opens it. */
  async makeLink(to: Buffer): Promise<HeldFile> {
    await unlessSwept(this.#held.calls.symlink(to, this.#held.at(WORK_LINK)))
    this.#hasLink = true
    return await unlessSwept(this.#held.hold(WORK_LINK))
  }

  /** Returns true if a descriptor is provably that of the symlink made here. Cannot be proved if the mount decides on modes and owners. */
  async isOurs(link: HeldFile, text: Buffer): Promise<boolean> {
    const [above, { uid, nlink }] = [await this.#held.stat(), link.opened]
    if (!this.owners.has(above.uid) || !isPrivate(above)) return false
    if (!link.opened.isSymbolicLink() || !this.owners.has(uid) || nlink !== 1n) return false
    return (await link.calls.readlinkBytes({ fd: link.fd, name: '' })).equals(text)
  }

  /** Gives the symlink its name, in place of an entry with that name. */
  async renameTo(name: string | Buffer): Promise<void> {
    await giveName(this.#directory, this.#held.at(WORK_LINK), name)
    this.#hasLink = false
  }

  async remove(): Promise<void> {
    const { calls } = this.#directory
    // An entry that cannot be removed is a leftover. If somebody has exchanged it, an empty directory goes at most.
    if (this.#hasLink) await calls.unlink(this.#held.at(WORK_LINK)).catch(() => {})
    await calls.unlink(this.#directory.at(this.name), AT_REMOVEDIR).catch(() => {})
    if (this.#lock !== undefined) calls.close(this.#lock)
    await this.#held.close()
  }
}
