import { readFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { loadAddon, type NativeMountTable } from '../addon.ts'
import { InotifyError } from '../errors.ts'
import { parseMountinfo } from './mountinfo.ts'

/**
 * Tells where something was mounted or unmounted: inotify does not (a filesystem over a watched directory, the end of a bind mount).
 * Nothing wakes up while the mount table stays as it is.
 */
export class MountWatch {
  readonly #changed: (points: string[]) => void
  #closed = false
  #native: NativeMountTable | undefined
  #points: Map<number, string> | undefined
  // A table is being read, and whether it may be out of date by now.
  #isLooking = false
  #isDue = false

  /** @param changed gets the mount points, as /proc/self/mountinfo has them */
  constructor(changed: (points: string[]) => void) {
    this.#changed = changed
  }

  /** Without /proc there is nothing to tell. Rejects with InotifyError, where there is no descriptor or no thread to be had. */
  async open(): Promise<void> {
    if (this.#native !== undefined || this.#closed) return
    const native = new (loadAddon().MountTable)()
    const error = native.open(() => void this.#look())
    if (error === -constants.errno.ENOENT) return
    if (error !== 0) throw new InotifyError({ errno: -error, syscall: 'open', path: '/proc/self/mountinfo' })
    native.unref()
    this.#native = native
    await this.#look()
  }

  close(): void {
    this.#closed = true
    this.#native?.close()
    this.#native = undefined
  }

  /** One at a time: of two tables that are read at once the older one may come last. */
  async #look(): Promise<void> {
    this.#isDue = true
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      while (this.#isDue) {
        this.#isDue = false
        this.#compare(await read())
      }
    } finally {
      this.#isLooking = false
    }
  }

  #compare(after: Map<number, string> | undefined): void {
    if (this.#native === undefined || after === undefined) return
    const before = this.#points ?? after
    this.#points = after
    const came = [...after].filter(([id, point]) => before.get(id) !== point)
    const went = [...before].filter(([id, point]) => after.get(id) !== point)
    const points = [...came, ...went].map(([, point]) => point)
    if (points.length > 0) this.#changed([...new Set(points)])
  }
}

async function read(): Promise<Map<number, string> | undefined> {
  try {
    const rows = parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'))
    return new Map(rows.map(({ id, point }) => [id, point]))
  } catch {
    return undefined
  }
}
