import { lstatSync, readlinkSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { keysOf, pathOf } from '../name_key.ts'
import { chooseBackend } from './filesystems.ts'
import { mountTable } from './mount_watch.ts'
import { MAX_LINKS } from './syscalls/max_links.ts'

/** Tells which paths (keys: name_key.ts) lie on mounts that only this kernel changes, and fully reports: no server delays callers. By the mount table as it was when this was made. */
export class NearMounts {
  readonly #table = mountTable()
  readonly #near = new Map<string, boolean>()
  // The directories without symlinks.
  readonly #real = new Map<string, string | undefined>([['/', '/']])

  /** Returns true if a path lies there. Asks each directory once for all its entries that are no mounts. Throws as a stat of the path fails: ENOENT. */
  has(path: string): boolean {
    if (this.#table.points.has(path)) return this.leadTo(path)
    const directory = dirname(path)
    const known = this.#near.get(directory)
    if (known !== undefined) return known
    const found = this.leadTo(directory)
    this.#near.set(directory, found)
    return found
  }

  /** Returns true if the target of a path, symlinks followed, lies there. Throws likewise. */
  leadTo(path: string): boolean {
    const real = this.realPath(path)
    const mount = real === undefined ? undefined : this.#table.mountOf(pathOf(real))
    return mount !== undefined && chooseBackend(mount).backend === 'inotify'
  }

  /** Returns true if the way to a path leads over a mount whose server may have stopped, as far as the way can be followed without asking that server. */
  leadsToServer(path: string): boolean {
    try {
      return this.realPath(path) === undefined
    } catch {
      return false
    }
  }

  /**
   * Returns the path without symlinks; undefined: a name on the way lies on a mount whose server may have stopped, or there are too many links. Throws as lstat(2)
   * of a name on the way fails.
   */
  realPath(path: string, links = 0): string | undefined {
    const above = this.#resolveDirectory(dirname(path), links)
    const name = basename(path)
    if (above === undefined || name === '' || name === '.') return above
    if (name === '..') return dirname(above)
    const entry = above === '/' ? `/${name}` : `${above}/${name}`
    if (this.#table.servedMountOf(entry) !== undefined) return undefined
    const bytes = pathOf(entry)
    if (!lstatSync(bytes).isSymbolicLink()) return entry
    if (links === MAX_LINKS) return undefined
    const to = keysOf(readlinkSync(bytes, 'buffer'))
    return this.realPath(to.startsWith('/') ? to : `${above}/${to}`, links + 1)
  }

  #resolveDirectory(path: string, links: number): string | undefined {
    if (this.#real.has(path)) return this.#real.get(path)
    const real = this.realPath(path, links)
    this.#real.set(path, real)
    return real
  }
}
