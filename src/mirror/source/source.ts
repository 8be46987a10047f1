import { capability } from '../../mounts/filesystems.ts'
import { mountById } from '../../mounts/mount_of.ts'
import { DirectoryHandle, lookUpPath } from '../../mounts/syscalls/directory_handle.ts'
import type { FileStat } from '../../mounts/syscalls/file_stat.ts'
import type { SyscallThread } from '../../mounts/syscalls/syscall_thread.ts'
import { Replaced, reasonOf, SourceLost } from './errors.ts'
import { WayToFile } from './single_file.ts'
import type { SourceHandle } from './source_handle.ts'

/**
 * A source by its path, which is looked at anew for each pass: a descriptor held from before would go on showing a directory
 * that is no longer there.
 */
export class Source {
  readonly path: string
  readonly calls: SyscallThread
  /** Absolute paths by which it is known. */
  readonly paths: readonly string[]
  /** The name that a single file has in the target; undefined for a directory. */
  readonly alias: string | undefined
  readonly #way: WayToFile
  // The inode at the path, and its mount.
  #known: FileStat | undefined
  // The kind of its mount when it was last opened.
  #kind: ReturnType<typeof kindOf> | undefined

  constructor(path: string, calls: SyscallThread, realPath: string | undefined, alias: string | undefined) {
    this.path = path
    this.calls = calls
    this.paths = realPath === undefined ? [path] : [path, realPath]
    this.alias = alias
    this.#way = new WayToFile(calls, path)
  }

  /** Opens the source, or throws {@link SourceLost}. */
  async open(): Promise<SourceHandle> {
    const opened = await this.#reach()
    try {
      await this.#recognize(opened)
      this.#kind ??= kindOf(opened)
      if (this.#kind.mount === opened.opened.mountOrDevice) return opened
    } catch (error) {
      await opened[Symbol.asyncDispose]()
      throw error instanceof SourceLost ? error : new SourceLost(reasonOf(error))
    }
    // Another mount may be one of another kind.
    this.#kind = undefined
    await opened[Symbol.asyncDispose]()
    return await this.open()
  }

  /**
   * Before anything is removed from the target: throws {@link Replaced} if another directory has taken the path and `read`,
   * from which names were missing, may be one on its way out; {@link SourceLost} if there is none.
   */
  async confirm(read: FileStat): Promise<void> {
    await using now = await this.#reach()
    if (now.opened.dev !== read.dev || now.opened.ino !== read.ino)
      throw new Replaced('it was replaced while it was read')
  }

  /** The type of its file system, where that is known: 'virtiofs'. */
  get type(): string | undefined {
    return this.#kind?.type
  }

  /** True if directories of its mount get new times when names come and go in them. */
  get timesDirectories(): boolean {
    return this.#kind?.timesDirectories === true
  }

  /**
   * Decides whether another directory at the path is the source. Once a mount is gone the empty directory below it comes to
   * light, and taking that for the source would delete everything. An empty directory on the same mount is one that
   * somebody emptied or made anew.
   */
  async #recognize(opened: SourceHandle): Promise<void> {
    const isOnAnother = this.#known !== undefined && this.#known.mountOrDevice !== opened.opened.mountOrDevice
    if (isOnAnother && (await opened.names(1)).length === 0)
      throw new SourceLost('its mount is gone: an empty directory is left at its path')
    this.#known = opened.opened
  }

  async #reach(): Promise<SourceHandle> {
    // virtiofs.md: a directory made anew on the host is a false ENOENT, or the old one, until each component has been looked
    // up again.
    try {
      if (this.alias !== undefined) return await this.#way.go(this.alias)
      // The thread keeps the order.
      const lookingUp = lookUpPath(this.calls, this.path)
      const opening = DirectoryHandle.open(this.calls, this.path, this.#kind?.revalidates)
      return (await Promise.all([opening, lookingUp]))[0]
    } catch (error) {
      throw new SourceLost(reasonOf(error))
    }
  }
}

/** The mount table may lack a mount of another namespace. The kind of its server, if it has one, is then unknown. */
function kindOf({ opened, revalidates }: SourceHandle) {
  const mount = mountById(Number(opened.mount))
  const timesDirectories = mount === undefined ? !revalidates : capability(mount).untimedDirectories !== true
  return { mount: opened.mountOrDevice, type: mount?.type, revalidates, timesDirectories }
}
