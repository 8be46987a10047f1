import { dirname } from 'node:path'
import { keysOf, pathOf } from '../name_key.ts'
import { chooseBackend } from './filesystems.ts'
import { MountTable } from './mount_table.ts'

/** Tells which paths (keys: name_key.ts) lie on mounts that only this kernel changes, and fully reports: no server delays callers. Reads the table once. */
export class NearMounts {
  readonly #table = new MountTable()
  readonly #points = new Set(this.#table.points().map(keysOf))
  readonly #directories = new Map<string, boolean>()

  /** Returns true if a path lies there. Asks each directory once for all its entries that are no mounts. Throws InotifyError if a path is missing. */
  has(path: string): boolean {
    if (this.#points.has(path)) return this.leadTo(path)
    const directory = dirname(path)
    const known = this.#directories.get(directory)
    if (known !== undefined) return known
    const found = this.leadTo(directory)
    this.#directories.set(directory, found)
    return found
  }

  /** Returns true if the target of a path, symlinks followed, lies there. Throws likewise. */
  leadTo(path: string): boolean {
    const mount = this.#table.mountOf(pathOf(path))
    return mount !== undefined && chooseBackend(mount).backend === 'inotify'
  }
}
