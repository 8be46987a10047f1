import type { DirectoryHandle, HeldFile } from '../../mounts/syscalls/directory_handle.ts'
import { tryLock } from '../../mounts/syscalls/file_lock.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import { ATTEMPTS, giveName, type Ready, temporaryName, withReady } from './ready.ts'

/**
 * A new file beside the one that it will replace, nobody else's to read, and locked for as long as it is written. Whoever may rename in
 * the directory can exchange its name; so all that is done to it is done by its descriptor, which is that of the file made here.
 */
export class Temporary implements Ready {
  readonly file: HeldFile
  readonly name: string
  readonly owners: ReadonlySet<bigint>
  readonly #directory: DirectoryHandle
  #isOpen = true
  #isThere = true

  constructor(directory: DirectoryHandle, name: string, file: HeldFile, givenTo: bigint | undefined) {
    this.#directory = directory
    this.name = name
    this.file = file
    // The first is whom the file system gives what we make: with NFS's root_squash that is not the effective user.
    this.owners = new Set([file.opened.uid, givenTo ?? file.opened.uid])
  }

  get opened(): FileStat {
    return this.file.opened
  }

  /**
   * Gives it its name, in place of what has that. Closed before: IN_CLOSE_WRITE would be told of the new name otherwise, a second event
   * behind IN_MOVED_TO. That unlocks it, so that who cleans up could come between: both calls are on their way before either is
   * answered, and what is lost even so is made again.
   */
  async renameTo(name: string | Buffer): Promise<void> {
    this.#isOpen = false
    // What a file system says at close(2) it has said at fsync(2).
    this.file.calls.close(this.file.fd)
    await giveName(this.#directory, this.#directory.at(this.name), name)
    this.#isThere = false
  }

  async remove(): Promise<void> {
    const { calls } = this.#directory
    // What cannot be removed is a leftover.
    if (this.#isThere) await calls.unlink(this.#directory.at(this.name)).catch(() => {})
    if (this.#isOpen) await this.file[Symbol.asyncDispose]()
  }
}

/**
 * Has a file made beside what it will replace.
 *
 * @param givenTo whom it will be given: what a killed call has left may have been given, too
 */
export async function withTemporary<T>(
  directory: DirectoryHandle,
  givenTo: bigint | undefined,
  make: (temporary: Temporary) => Promise<T>,
): Promise<T> {
  return await withReady(directory, () => create(directory, givenTo), make)
}

async function create(directory: DirectoryHandle, givenTo: bigint | undefined): Promise<Temporary> {
  for (let attempt = 1; ; attempt++) {
    const name = temporaryName()
    const file = await directory.create(name, 0o600)
    const lock = await tryLock(file.calls, file.fd)
    // Whoever cleans up can have come before us, and is done with it or about to be.
    if (attempt === ATTEMPTS || (lock !== 'taken' && (await file.stat()).nlink > 0n))
      return new Temporary(directory, name, file, givenTo)
    await file[Symbol.asyncDispose]()
  }
}
