import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import { loadAddon, type NativeMountTable } from '../addon.ts'
import { InotifyError } from '../errors.ts'
import { parseMountinfo } from './mountinfo.ts'

const TABLE = '/proc/self/mountinfo'

/**
 * Tells where something was mounted or unmounted: inotify does not (a filesystem over a watched directory, the end of a bind mount).
 * Nothing wakes up while the mount table stays as it is.
 */
export class MountWatch {
  readonly #changed: (points: Buffer[], vacant: Buffer[]) => void
  #closed = false
  #native: NativeMountTable | undefined
  #points: Map<number, string> | undefined
  // A table is being read, and whether it may be out of date by now.
  #looking: Promise<void> | undefined
  #isDue = false
  // Nobody could read it the last time.
  #isStale = false
  // For the read under way to be told, and for the one after it.
  readonly #waiting: Array<() => void> = []
  readonly #waitingForNext: Array<() => void> = []

  /** @param changed gets the mount points, as /proc/self/mountinfo has them: they may be no UTF-8; and those of them on which nothing is mounted any more */
  constructor(changed: (points: Buffer[], vacant: Buffer[]) => void) {
    this.#changed = changed
  }

  /** Without /proc there is nothing to tell. Rejects with InotifyError, where there is no descriptor or no thread to be had. */
  async open(): Promise<void> {
    if (this.#native !== undefined || this.#closed) return
    const native = new (loadAddon().MountTable)()
    const error = native.open(() => void this.#look())
    if (error === -constants.errno.ENOENT) return
    if (error !== 0) throw new InotifyError({ errno: -error, syscall: 'open', path: TABLE })
    native.unref()
    this.#native = native
    // Within this call: what is mounted behind it is told.
    try {
      this.#points = pointsIn(readFileSync(TABLE, 'latin1'))
    } catch {
      this.#isStale = true
    }
    void this.#lookOnceHeard()
  }

  close(): void {
    this.#closed = true
    this.#native?.close()
    this.#native = undefined
  }

  /** Resolves when all that was mounted and unmounted before this call has been told. */
  async settled(): Promise<void> {
    if (this.#native === undefined) return
    await heard()
    if (this.#isStale) void this.#look()
    if (this.#looking === undefined) return
    await new Promise<void>((resolve) => (this.#isDue ? this.#waitingForNext : this.#waiting).push(resolve))
  }

  /** libuv has the kernel tell of changes only from the loop's next round on, and what has come until then is never told. */
  async #lookOnceHeard(): Promise<void> {
    await heard()
    if (this.#native !== undefined) await this.#look()
  }

  /** One at a time: of two tables that are read at once the older one may come last. */
  #look(): Promise<void> {
    this.#isDue = true
    this.#looking ??= this.#lookWhileDue()
    return this.#looking
  }

  async #lookWhileDue(): Promise<void> {
    try {
      while (this.#isDue) {
        this.#isDue = false
        this.#waiting.push(...this.#waitingForNext.splice(0))
        const table = await read()
        this.#isStale = table === undefined
        this.#compare(table)
        for (const resolve of this.#waiting.splice(0)) resolve()
      }
    } finally {
      // Within the same turn: who asks from now on begins anew.
      this.#looking = undefined
      for (const resolve of [...this.#waiting.splice(0), ...this.#waitingForNext.splice(0)]) resolve()
    }
  }

  #compare(after: Map<number, string> | undefined): void {
    if (this.#native === undefined || after === undefined) return
    const before = this.#points ?? after
    this.#points = after
    const came = [...after].filter(([id, point]) => before.get(id) !== point)
    const went = [...before].filter(([id, point]) => after.get(id) !== point)
    const points = new Set([...came, ...went].map(([, point]) => point))
    if (points.size === 0) return
    const mounted = new Set(after.values())
    const vacant = [...points].filter((point) => !mounted.has(point))
    this.#changed(bytesOf([...points]), bytesOf(vacant))
  }
}

/** The first ends the loop's round, which may have begun before; all that the next one finds has been heard of by the second. */
async function heard(): Promise<void> {
  await setImmediate()
  await setImmediate()
}

function bytesOf(points: readonly string[]): Buffer[] {
  return points.map((point) => Buffer.from(point, 'latin1'))
}

/** By the ids of the mounts; a byte each character. */
function pointsIn(table: string): Map<number, string> {
  return new Map(parseMountinfo(table).map(({ id, point }) => [id, point]))
}

async function read(): Promise<Map<number, string> | undefined> {
  try {
    return pointsIn(await readFile(TABLE, 'latin1'))
  } catch {
    return undefined
  }
}
