import { constants } from 'node:os'
import { basename, dirname } from 'node:path'
import { CallError } from '../mounts/call_error.ts'
import { AT_FDCWD, type Calls } from '../mounts/calls.ts'
import { HeldDirectory, lookUpPath } from '../mounts/held.ts'
import { Replaced, reasonOf, SourceLost } from './interrupted.ts'
import { type Opened, SoleFile } from './opened.ts'

/** As many as the kernel follows in one path: path_resolution(7). */
const MAX_LINKS = 40

/** Which inode stood at the source's path, and on which mount. */
interface Identity {
  readonly dev: bigint
  readonly ino: bigint
  readonly mount: bigint
}

/**
 * A source by its path, which is looked at anew for each pass: a descriptor held from before would go on showing a directory
 * that is no longer there.
 */
export class Source {
  readonly path: string
  readonly calls: Calls
  /** The name that a single file has in the target; undefined for a directory. */
  readonly alias: string | undefined
  #identity: Identity | undefined
  // Of the mount that it was on when it was last opened.
  #kind: { readonly mount: bigint; readonly revalidates: boolean } | undefined

  constructor(path: string, calls: Calls, alias: string | undefined) {
    this.path = path
    this.calls = calls
    this.alias = alias
  }

  /** Opens what is there, or throws {@link SourceLost}. */
  async open(): Promise<Opened> {
    const opened = await this.#reach()
    try {
      await this.#recognize(opened)
      const { mount } = opened.opened
      if (this.#kind === undefined) this.#kind = { mount, revalidates: opened.revalidates }
      if (this.#kind.mount === mount) return opened
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
  async confirm(read: Opened): Promise<void> {
    await using now = await this.#reach()
    const [here, there] = [now.opened, await read.stat()]
    if (here.dev !== there.dev || here.ino !== there.ino)
      throw new Replaced('it was replaced while it was read')
  }

  /** The directory that the path's last name is in. */
  above(): Promise<HeldDirectory> {
    return HeldDirectory.open(this.calls, dirname(this.path))
  }

  /**
   * Decides whether another directory at the path is the source. Once a mount is gone the empty directory below it comes to
   * light, and taking that for the source would delete everything. An empty directory on the same mount is one that
   * somebody emptied or made anew.
   */
  async #recognize(opened: Opened): Promise<void> {
    const { dev, ino, mount } = opened.opened
    const known = this.#identity
    if (known?.dev === dev && known.ino === ino && known.mount === mount) return
    if (known !== undefined && known.mount !== mount && (await opened.names(1)).length === 0) {
      throw new SourceLost('its mount is gone: an empty directory is left at its path')
    }
    this.#identity = { dev, ino, mount }
  }

  async #reach(): Promise<Opened> {
    // virtiofs.md: a directory made anew on the host is a false ENOENT, or the old one, until each component has been looked
    // up again.
    await lookUpPath(this.calls, this.path)
    try {
      if (this.alias === undefined)
        return await HeldDirectory.open(this.calls, this.path, this.#kind?.revalidates)
      return await this.#reachFile(this.alias)
    } catch (error) {
      throw new SourceLost(reasonOf(error))
    }
  }

  /** The file that the path leads to: a key of a ConfigMap is a link to a link, and both are looked up anew. */
  async #reachFile(alias: string): Promise<Opened> {
    let parent = await HeldDirectory.open(this.calls, dirname(this.path))
    let name = basename(this.path)
    try {
      let stat = await parent.lstat(name)
      for (let links = 0; stat.isSymbolicLink(); links++) {
        if (links === MAX_LINKS) throw new CallError(constants.errno.ELOOP, 'open')
        const to = await parent.readlink(name)
        const before = parent
        parent = await this.#directoryOf(before, to)
        await before.close()
        name = basename(to)
        stat = await parent.lstat(name)
      }
      return new SoleFile(parent, name, stat, alias)
    } catch (error) {
      await parent.close()
      throw error
    }
  }

  /** The directory of what a link in `from` leads to, each name on the way looked up anew. */
  async #directoryOf(from: HeldDirectory, to: string): Promise<HeldDirectory> {
    const parts = dirname(to).split('/')
    let path = to.startsWith('/') ? '/' : from.path
    for (const part of parts) {
      path = `${path}/${part}`
      await this.calls.lookUpAgain({ fd: AT_FDCWD, name: path })
    }
    return await HeldDirectory.open(this.calls, path)
  }
}
