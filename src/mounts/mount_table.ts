import { readFileSync } from 'node:fs'
import { mountIdAt, rowIn } from './mount_of.ts'
import { type Mount, parseMountinfo, toMount } from './mountinfo.ts'

/** The mount table as it was read once, for many paths. It says nothing of what is mounted behind that: see MountWatch. */
export class MountTable {
  readonly #text = read()
  readonly #mounts = new Map<number, Mount | undefined>()

  /**
   * The mount of an existing path, symlinks followed; undefined where the table does not have it: one of another namespace, one that is younger, or the
   * kernel does not say which it is. Throws an InotifyError as statx(2) fails.
   */
  mountOf(path: string | Buffer): Mount | undefined {
    const id = mountIdAt(path)
    if (!this.#mounts.has(id)) this.#mounts.set(id, this.#find(id))
    return this.#mounts.get(id)
  }

  /** Where something is mounted. As bytes: names may be no UTF-8. */
  points(): Buffer[] {
    return parseMountinfo(this.#text.toString('latin1')).map(({ point }) => Buffer.from(point, 'latin1'))
  }

  #find(id: number): Mount | undefined {
    const row = id > 0 ? rowIn(this.#text.toString(), id) : undefined
    return row && toMount(row)
  }
}

/** Empty where there is no /proc. */
function read(): Buffer {
  try {
    return readFileSync('/proc/self/mountinfo')
  } catch {
    return Buffer.alloc(0)
  }
}
