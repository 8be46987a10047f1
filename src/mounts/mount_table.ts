import { readFileSync } from 'node:fs'
import { pathOf } from '../name_key.ts'
import { mayHang } from './filesystems.ts'
import { mountIdAt, rowIn } from './mount_of.ts'
import { type Mount, type MountRow, mountAt, parseMountinfo, toMount } from './mountinfo.ts'

/** The mount table as it was read once, for many paths. It does not have mounts that were made later: see MountWatch. */
export class MountTable {
  readonly #text = read()
  readonly #mounts = new Map<number, Mount | undefined>()

  /**
   * Returns the mount of an existing path, symlinks followed. Undefined if the table lacks it: a mount of another namespace or a younger one, or the
   * kernel does not tell the id. Throws an InotifyError as statx(2) fails.
   */
  mountOf(path: string | Buffer): Mount | undefined {
    const id = mountIdAt(path)
    if (!this.#mounts.has(id)) this.#mounts.set(id, this.#find(id))
    return this.#mounts.get(id)
  }

  /**
   * Returns the mount of a path (a key: see name_key.ts) without symlinks, there or not, if a server answers for that mount. Asks the table alone: a stat of the path would
   * wait in this thread for a server that may have stopped, and nothing ends such a wait.
   */
  servedMountOf(path: string): Mount | undefined {
    const row = mountAt(this.#rows, Buffer.from(pathOf(path)).toString('latin1'))
    return row !== undefined && mayHang(row) ? toMount(row) : undefined
  }

  /** Returns the mount points. As bytes: names may be no UTF-8. */
  points(): Buffer[] {
    return this.#rows.map(({ point }) => Buffer.from(point, 'latin1'))
  }

  /** A character for each byte. */
  get #rows(): readonly MountRow[] {
    return parseMountinfo(this.#text.toString('latin1'))
  }

  #find(id: number): Mount | undefined {
    const row = id > 0 ? rowIn(this.#text.toString(), id) : undefined
    return row && toMount(row)
  }
}

/** Returns '' without /proc. */
function read(): Buffer {
  try {
    return readFileSync('/proc/self/mountinfo')
  } catch {
    return Buffer.alloc(0)
  }
}
