import { isUtf8 } from 'node:buffer'
import { keysOf } from '../name_key.ts'
import { mayHang } from './filesystems.ts'
import { mountIdAt } from './mount_of.ts'
import { type Mount, type MountRow, mountAt, parseMountinfo, toMount } from './mountinfo.ts'

/** The mount table as it was read once, for many paths (keys: see name_key.ts). It does not have mounts that were made later: see MountWatch. */
export class MountTable {
  readonly rows: readonly MountRow[]
  #byId: ReadonlyMap<number, MountRow> | undefined
  #points: ReadonlySet<string> | undefined

  /** @param bytes as /proc/self/mountinfo has them */
  constructor(bytes: Buffer) {
    this.rows = parseMountinfo(textOf(bytes))
  }

  /** The mount points. */
  get points(): ReadonlySet<string> {
    this.#points ??= new Set(this.rows.map(({ point }) => point))
    return this.#points
  }

  /**
   * Returns the mount of an existing path, symlinks followed. Undefined if the table lacks it: a mount of another namespace or a younger one, or the
   * kernel does not tell the id. Throws an InotifyError as statx(2) fails.
   */
  mountOf(path: string | Buffer): Mount | undefined {
    this.#byId ??= new Map(this.rows.map((row) => [row.id, row]))
    const row = this.#byId.get(mountIdAt(path))
    return row && toMount(row)
  }

  /**
   * Returns the mount of a path without symlinks, there or not, if a server answers for that mount. Asks the table alone: a stat of the path would
   * wait in this thread for a server that may have stopped, and nothing ends such a wait.
   */
  servedMountOf(path: string): Mount | undefined {
    const row = mountAt(this.rows, path)
    return row !== undefined && mayHang(row) ? toMount(row) : undefined
  }
}

/** Field by field: a name that is no UTF-8 is a key, and leaves the other fields as they are. */
function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString()
  const fields = bytes.toString('latin1').split(/([ \n])/)
  return fields.map((field) => keysOf(Buffer.from(field, 'latin1'))).join('')
}
