import { randomBytes } from 'node:crypto'
import { codeOf } from '../mounts/call_error.ts'
import type { HeldDirectory, HeldFile } from '../mounts/held.ts'
import { LINK_SUFFIX, removeLeftovers, TEMPORARY_PREFIX, tryLock } from './leftovers.ts'

/** How often another publisher may take a temporary file for a leftover. */
const ATTEMPTS = 20

/** Another publisher has removed the temporary file. */
class Swept extends Error {
  override readonly name = 'Swept'
}

/** A new file beside the one that it will replace, nobody else's to read, and locked for as long as it is written. */
export class Temporary {
  readonly file: HeldFile
  readonly name: string
  readonly #directory: HeldDirectory
  #link = ''
  #isOpen = true
  #isThere = true

  constructor(directory: HeldDirectory, name: string, file: HeldFile) {
    this.#directory = directory
    this.name = name
    this.file = file
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
    await this.#rename(this.name, name)
    this.#isThere = false
  }

  /** Makes a symlink, with the name of this file and a suffix. */
  async makeLink(to: Buffer): Promise<string> {
    const name = this.name + LINK_SUFFIX
    await this.file.calls.symlink(to, this.#directory.at(name))
    this.#link = name
    return name
  }

  async renameLinkTo(name: string | Buffer): Promise<void> {
    await this.#rename(this.#link, name)
    this.#link = ''
  }

  /** Removes what has not got a name. */
  async remove(): Promise<void> {
    const { calls } = this.#directory
    // The link first: see removeIfLeft. What cannot be removed is a leftover.
    if (this.#link !== '') await calls.unlink(this.#directory.at(this.#link)).catch(() => {})
    if (this.#isThere) await calls.unlink(this.#directory.at(this.name)).catch(() => {})
    if (this.#isOpen) await this.file[Symbol.asyncDispose]()
  }

  async #rename(from: string, to: string | Buffer): Promise<void> {
    try {
      await this.#directory.calls.rename(this.#directory.at(from), this.#directory.at(to))
    } catch (error) {
      throw codeOf(error) === 'ENOENT'
        ? new Swept('a temporary file has been removed', { cause: error })
        : error
    }
  }
}

/** Cleans up behind those that were killed, and has something made beside what it will replace. */
export async function withTemporary<T>(
  directory: HeldDirectory,
  make: (temporary: Temporary) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const temporary = await create(directory)
    try {
      await removeLeftovers(directory, temporary.file.opened.ctimeNs, temporary.name)
      return await make(temporary)
    } catch (error) {
      if (!(error instanceof Swept)) throw error
      if (attempt === ATTEMPTS) throw error.cause
    } finally {
      await temporary.remove()
    }
  }
}

async function create(directory: HeldDirectory): Promise<Temporary> {
  for (let attempt = 1; ; attempt++) {
    const name = TEMPORARY_PREFIX + randomBytes(6).toString('hex')
    const file = await makeRoomFor(directory, () => directory.create(name, 0o600))
    const lock = await tryLock(file.calls, file.fd)
    // Whoever cleans up can have come before us, and is done with it or about to be.
    if (lock !== 'taken' && ((await file.stat()).nlink > 0n || attempt === ATTEMPTS))
      return new Temporary(directory, name, file)
    await file[Symbol.asyncDispose]()
  }
}

/** What is left may be all that fills the file system. */
async function makeRoomFor<T>(directory: HeldDirectory, make: () => Promise<T>): Promise<T> {
  try {
    return await make()
  } catch (error) {
    if (!['ENOSPC', 'EDQUOT'].includes(codeOf(error))) throw error
    await removeLeftovers(directory, BigInt(Date.now()) * 1_000_000n)
    return await make()
  }
}
