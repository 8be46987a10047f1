import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, link, lstat, open, readdir, readlink, statfs } from 'node:fs/promises'

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants

/** open(2): a reference to the inode only. Opens no device, waits for no FIFO, needs no permission to read. Not in node:fs. */
export const O_PATH = 0o10000000

/** ext2-4, tmpfs, ramfs, xfs, btrfs: their dentries are changed by this kernel alone, so they cannot be stale. */
const NEVER_STALE = new Set([0xef53, 0x01021994, 0x858458f6, 0x58465342, 0x9123683e])

/**
 * A directory held open. Node has no openat(2), but `/proc/self/fd/N/name` is resolved from the directory that the
 * descriptor refers to: no path is checked first and used, possibly for something else, afterwards (CVE-2017-1002101,
 * CVE-2021-25741). Names are single components.
 */
export class HeldDirectory implements AsyncDisposable {
  readonly #handle: FileHandle
  readonly #revalidate: boolean

  private constructor(handle: FileHandle, revalidate: boolean) {
    this.#handle = handle
    this.#revalidate = revalidate
  }

  /**
   * Opens a directory by its path, symlinks followed. Where the file system may answer from stale dentries (FUSE,
   * network), every name is looked up anew before it is used.
   *
   * @param revalidate whether that is so, if it is known: asking is a request to the server
   */
  static async open(path: string, revalidate?: boolean): Promise<HeldDirectory> {
    const handle = await open(path, O_PATH | O_DIRECTORY)
    if (revalidate !== undefined) return new HeldDirectory(handle, revalidate)
    try {
      const { type } = await statfs(`/proc/self/fd/${handle.fd}`)
      return new HeldDirectory(handle, !NEVER_STALE.has(type))
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** Whether names are looked up anew. */
  get revalidates(): boolean {
    return this.#revalidate
  }

  get fd(): number {
    return this.#handle.fd
  }

  /** A path by which this very directory, whatever its name is by now, can be given to node:fs. */
  get path(): string {
    return `/proc/self/fd/${this.#handle.fd}`
  }

  /** The path of an entry; for calls that do not follow a symlink in the last component. */
  entry(name: string): string {
    return `${this.path}/${name}`
  }

  stat(): Promise<BigIntStats> {
    return this.#handle.stat({ bigint: true })
  }

  /** The names as bytes: a name need not be UTF-8. */
  names(): Promise<Buffer[]> {
    return readdir(this.path, { encoding: 'buffer' })
  }

  /** A Buffer gives a name that is not UTF-8. */
  async lstat(name: string | Buffer): Promise<BigIntStats> {
    const path =
      typeof name === 'string' ? this.entry(name) : Buffer.concat([Buffer.from(this.entry('')), name])
    if (this.#revalidate) await lookUpAgain(path)
    return lstat(path, { bigint: true })
  }

  async readlink(name: string): Promise<string> {
    await this.#lookUpAgain(name)
    return readlink(this.entry(name))
  }

  /** Opens a subdirectory; a symlink is ELOOP or ENOTDIR. */
  async directory(name: string): Promise<HeldDirectory> {
    await this.#lookUpAgain(name)
    const handle = await open(this.entry(name), O_PATH | O_DIRECTORY | O_NOFOLLOW)
    return new HeldDirectory(handle, this.#revalidate)
  }

  /** Opens the directory at a relative path beneath this one, '' for itself; no component may be a symlink. */
  async descend(path: string): Promise<HeldDirectory> {
    let held = new HeldDirectory(await open(this.path, O_PATH | O_DIRECTORY), this.#revalidate)
    for (const name of path === '' ? [] : path.split('/')) {
      const parent = held
      try {
        held = await parent.directory(name)
      } finally {
        await parent.close()
      }
    }
    return held
  }

  /** Opens a regular file for reading; undefined if the entry is of another type, which is then not opened at all. */
  async file(name: string): Promise<FileHandle | undefined> {
    await this.#lookUpAgain(name)
    const inode = await open(this.entry(name), O_PATH | O_NOFOLLOW)
    try {
      // The type is that of the inode held here, not of whatever the name stands for when it is opened for reading.
      const stat = await inode.stat()
      // O_NONBLOCK: a lease that somebody holds on it (fcntl(2)) is EAGAIN then, not a wait of up to 45 s.
      return stat.isFile() ? await open(`/proc/self/fd/${inode.fd}`, O_RDONLY | O_NONBLOCK) : undefined
    } finally {
      await inode.close()
    }
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #lookUpAgain(name: string): Promise<void> {
    if (this.#revalidate) await lookUpAgain(this.entry(name))
  }
}

/**
 * Makes a FUSE mount ask its server about a name now. linkat(2) from another file system always fails (EEXIST, EXDEV, EROFS
 * or EPERM) and changes nothing, but a name about to be created must first be looked up past the dentry cache, which
 * may otherwise be a second old, or for ever in virtiofs's cache=always.
 */
export async function lookUpAgain(path: string | Buffer): Promise<void> {
  await link('/proc/version', path).catch(() => {})
}
