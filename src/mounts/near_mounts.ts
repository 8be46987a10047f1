import { dirname } from 'node:path'
import { keysOf, pathOf } from '../name_key.ts'
import { chooseBackend } from './filesystems.ts'
import { MountTable } from './mount_table.ts'

/** What lies on mounts that only this kernel changes, whose every change it reports: nobody waits for a server there. By the mount table as it was read once. Paths are keys: see name_key.ts. */
export class NearMounts {
  readonly #table = new MountTable()
  readonly #points = new Set(this.#table.points().map(keysOf))
  readonly #directories = new Map<string, boolean>()

  /** Whether a path lies there: of what is in a directory, and is no mount itself, that directory is asked once. Throws InotifyError as what is asked is not there. */
  has(path: string): boolean {
    if (this.#points.has(path)) return this.leadTo(path)
    const directory = dirname(path)
    const known = this.#directories.get(directory)
    if (known !== undefined) return known
    const found = this.leadTo(directory)
    this.#directories.set(directory, found)
    return found
  }

  /** Whether what a path leads to lies there, symlinks followed. Throws likewise. */
  leadTo(path: string): boolean {
    const mount = this.#table.mountOf(pathOf(path))
    return mount !== undefined && chooseBackend(mount).backend === 'inotify'
  }
}
