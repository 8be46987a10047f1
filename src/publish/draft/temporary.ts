import type { DirectoryHandle, HeldFile } from '../../mounts/syscalls/directory_handle.ts'
import { tryLock } from '../../mounts/syscalls/file_lock.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { ATTEMPTS, giveName, type Ready, temporaryName } from './ready.ts'

/**
 * A new file beside the one that it will replace, readable only by its owner, and locked while it is written. Users who may rename in
 * the directory can exchange its name. So everything is done by its descriptor, which is that of the file made here.
 */
export class Temporary implements Ready {
  readonly file: HeldFile
  readonly name: string
  readonly owners: ReadonlySet<bigint>
  readonly #directory: DirectoryHandle
  #isOpen = true
  #isThere = true

  private constructor(directory: DirectoryHandle, name: string, file: HeldFile, givenTo: bigint | undefined) {
    this.#directory = directory
    this.name = name
    this.file = file
    // The first is the user to whom the file system gives our files: with NFS's root_squash not the effective user.
    this.owners = new Set([file.opened.uid, givenTo ?? file.opened.uid])
  }

  /** Returns what makes the file. A user who will own it may own a killed call's leftovers, too. */
  static givenTo(owner: bigint | undefined): (directory: DirectoryHandle) => Promise<Temporary> {
    return (directory) => Temporary.#make(directory, owner)
  }

  static async #make(directory: DirectoryHandle, owner: bigint | undefined): Promise<Temporary> {
    for (let attempt = 1; ; attempt++) {
      const name = temporaryName()
      const file = await directory.create(name, 0o600)
      const lock = await tryLock(file.calls, file.fd)
      // Another publisher's cleanup can have come first, and is done with the file or about to be.
      if (attempt === ATTEMPTS || (lock !== 'taken' && (await file.stat()).nlink > 0n))
        return new Temporary(directory, name, file, owner)
      await file[Symbol.asyncDispose]()
    }
  }

  get opened(): FileStat {
    return this.file.opened
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
    await giveName(this.#directory, this.#directory.at(this.name), name)
    this.#isThere = false
  }

  async remove(): Promise<void> {
    const { calls } = this.#directory
    // A file that cannot be removed is a leftover.
    if (this.#isThere) await calls.unlink(this.#directory.at(this.name)).catch(() => {})
    if (this.#isOpen) await this.file[Symbol.asyncDispose]()
  }
}
