import { constants } from 'node:fs'
import type { FileStat } from './file_stat.ts'
import {
  AT_FDCWD,
  type At,
  O_PATH,
  type Opened,
  type OpenedFile,
  type SyscallThread,
} from './syscall_thread.ts'

const { O_DIRECTORY } = constants

/** ext2-4, tmpfs, ramfs, xfs, btrfs: their dentries are changed by this kernel alone, so they cannot be stale. */
const NEVER_STALE = new Set([0xef53, 0x01021994, 0x858458f6, 0x58465342, 0x9123683e])

/**
 * A directory held open: what is done in it is done by openat2(2), renameat2(2) and the like from its descriptor, by single
 * names. No path is checked first and used, possibly for something else, afterwards (CVE-2017-1002101, CVE-2021-25741).
 */
export class DirectoryHandle implements AsyncDisposable {
  readonly calls: SyscallThread
  readonly fd: number
  /** The stat of the directory when it was opened. */
  readonly opened: FileStat
  /** True: names are looked up anew before use, as FUSE and network file systems may answer from stale dentries. */
  readonly revalidates: boolean

  private constructor(calls: SyscallThread, { fd, stat }: Opened, revalidates: boolean) {
    this.calls = calls
    this.fd = fd
    this.opened = stat
    this.revalidates = revalidates
  }

  /**
   * Opens a directory by its path, symlinks followed.
   *
   * @param revalidates if that is known: asking is a request to the server
   */
  static async open(
    calls: SyscallThread,
    path: string | Buffer,
    revalidates?: boolean,
  ): Promise<DirectoryHandle> {
    const opened = await calls.open(path, O_PATH | O_DIRECTORY)
    if (revalidates !== undefined) return new DirectoryHandle(calls, opened, revalidates)
    try {
      return new DirectoryHandle(calls, opened, await mayBeStale(calls, opened.fd))
    } catch (error) {
      calls.close(opened.fd)
      throw error
    }
  }

  /** Returns the address of the directory itself, or of an entry. A string is a key: see name_key.ts. */
  at(name: string | Buffer = ''): At {
    return { fd: this.fd, name, revalidate: this.revalidates }
  }

  /** The path of this very directory for callees that take paths, whatever its name is by now. */
  get path(): string {
    return `/proc/self/fd/${this.fd}`
  }

  /** Returns the path that the directory has now: proc(5). */
  realpath(): Promise<string> {
    return this.calls.readlink({ fd: AT_FDCWD, name: this.path })
  }

  stat(): Promise<FileStat> {
    return this.calls.stat(this.at())
  }

  /** Returns the first `most` names as bytes. */
  names(most = Number.MAX_SAFE_INTEGER): Promise<Buffer[]> {
    return this.calls.names(this.fd, most, this.revalidates)
  }

  lstat(name: string | Buffer): Promise<FileStat> {
    return this.calls.stat(this.at(name))
  }

  /** Opens a subdirectory; a symlink is ELOOP or ENOTDIR. */
  async directory(name: string | Buffer): Promise<DirectoryHandle> {
    const opened = await this.calls.openBeneath(this.at(name), O_PATH | O_DIRECTORY)
    return new DirectoryHandle(this.calls, opened, this.revalidates)
  }

  /** Opens the directory above, or the directory itself at the root. */
  parent(): Promise<DirectoryHandle> {
    return DirectoryHandle.open(this.calls, `${this.path}/..`, this.revalidates)
  }

  /** Opens the directory at a relative path beneath this one, '' for itself; no component may be a symlink. */
  async descend(path: string): Promise<DirectoryHandle> {
    let held = await DirectoryHandle.open(this.calls, this.path, this.revalidates)
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

  /** Opens an entry of any type by O_PATH; a symlink itself. */
  async hold(name: string | Buffer): Promise<HeldFile> {
    return new HeldFile(this.calls, await this.calls.openBeneath(this.at(name), O_PATH))
  }

  /** Opens a regular file and reads up to `most` bytes; an entry of another type is not opened at all: EPROTOTYPE. */
  async file(name: string | Buffer, most = 0): Promise<ReadFile> {
    return new ReadFile(this.calls, await this.calls.openRegular(this.at(name), most))
  }

  /** Makes a file to be written. */
  async create(name: string, mode: number): Promise<HeldFile> {
    return new HeldFile(this.calls, await this.calls.create(this.at(name), mode))
  }

  async close(): Promise<void> {
    this.calls.close(this.fd)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** A descriptor of an entry that is no directory. */
export class HeldFile implements AsyncDisposable {
  readonly calls: SyscallThread
  readonly fd: number
  /** The stat of the file when it was opened. */
  readonly opened: FileStat
  /** True: the descriptor is closed, and its number may be another file's by now. */
  isClosed?: true

  constructor(calls: SyscallThread, { fd, stat }: Opened) {
    this.calls = calls
    this.fd = fd
    this.opened = stat
  }

  stat(): Promise<FileStat> {
    return this.calls.stat({ fd: this.fd, name: '' })
  }

  /** Closes the descriptor without waiting: a tmpfs has no failed writes to report at close(2), as network file systems do. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.isClosed) this.calls.close(this.fd)
    this.isClosed = true
  }
}

/** A regular file that is open to be read, and the content that was read at its opening. */
export class ReadFile extends HeldFile {
  readonly content: Buffer
  /** The stat after the read; undefined if nothing was to be read. */
  readonly after: FileStat | undefined

  constructor(calls: SyscallThread, opened: OpenedFile) {
    super(calls, opened)
    this.content = opened.content
    this.after = opened.after
  }
}

/** Has every component of an absolute path looked up anew, from the root down. */
export async function lookUpPath(calls: SyscallThread, path: string): Promise<void> {
  await calls.lookUpAgain({ fd: AT_FDCWD, name: path })
}

async function mayBeStale(calls: SyscallThread, fd: number): Promise<boolean> {
  return !NEVER_STALE.has(await calls.fileSystem(fd))
}
