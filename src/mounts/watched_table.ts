import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import { loadAddon, type NativeMountTable } from '../addon.ts'
import { InotifyError } from '../errors.ts'
import { MountTable } from './mount_table.ts'

const TABLE = '/proc/self/mountinfo'

/** Receives each table that was read since the kernel told of a change. */
export type TableListener = (table: MountTable) => void

/** The mount table, one descriptor and one read for all that listen. Nothing wakes up while it stays as it is. */
export class WatchedTable {
  readonly #listeners = new Set<TableListener>()
  #native: NativeMountTable | undefined
  // A table is being read, and whether it may be out of date by now.
  #looking: Promise<void> | undefined
  #isDue = false
  // The last read has failed.
  #isStale = false
  // As the kernel has told of no change since.
  #last: MountTable | undefined
  // For the read under way to be told, and for the one after it.
  readonly #waiting: Array<() => void> = []
  readonly #waitingForNext: Array<() => void> = []

  /** False when the last listener has left: another object has to be made then. */
  get isOpen(): boolean {
    return this.#native !== undefined
  }

  /** Returns the table as the event loop last heard of it, read anew only if need be. Throws as the read fails. */
  now(): MountTable {
    const table = this.#last ?? new MountTable(readFileSync(TABLE))
    // Closed, nobody tells of what comes later.
    if (this.isOpen) this.#last = table
    return table
  }

  /**
   * Returns the table as it is now; undefined: nobody could read it, and the listener will get it. False without /proc, where there is nothing to tell.
   * Throws InotifyError where there is no descriptor to be had.
   */
  join(listener: TableListener): MountTable | undefined | false {
    if (this.#native === undefined && !this.#open()) return false
    this.#listeners.add(listener)
    try {
      return this.now()
    } catch {
      this.#isStale = true
      void this.#lookOnceHeard()
      return undefined
    }
  }

  leave(listener: TableListener): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0) return
    this.#native?.close()
    this.#native = undefined
    this.#last = undefined
  }

  /** Resolves when all that was mounted and unmounted before this call has been told. */
  async settled(): Promise<void> {
    await heard()
    if (this.#isStale) void this.#look()
    if (this.#looking === undefined) return
    await new Promise<void>((resolve) => (this.#isDue ? this.#waitingForNext : this.#waiting).push(resolve))
  }

  #open(): boolean {
    const native = new (loadAddon().MountTable)()
    const error = native.open(() => void this.#look())
    if (error === -constants.errno.ENOENT) return false
    if (error !== 0) throw new InotifyError({ errno: -error, syscall: 'open', path: TABLE })
    native.unref()
    this.#native = native
    void this.#lookOnceHeard()
    return true
  }

  /** libuv has the kernel tell of changes only from the loop's next round on, and what has come until then is never told. */
  async #lookOnceHeard(): Promise<void> {
    await heard()
    if (this.#native !== undefined) await this.#look()
  }

  /** One at a time: of two tables that are read at once the older one may come last. */
  #look(): Promise<void> {
    this.#isDue = true
    this.#last = undefined
    this.#looking ??= this.#lookWhileDue()
    return this.#looking
  }

  async #lookWhileDue(): Promise<void> {
    try {
      while (this.#isDue) {
        this.#isDue = false
        this.#waiting.push(...this.#waitingForNext.splice(0))
        // To a listener that joins meanwhile the table would be older than its own.
        const listeners = [...this.#listeners]
        const table = await read()
        this.#isStale = table === undefined
        if (!this.#isDue && this.isOpen) this.#last = table
        if (table !== undefined)
          for (const listener of listeners) if (this.#listeners.has(listener)) listener(table)
        for (const resolve of this.#waiting.splice(0)) resolve()
      }
    } finally {
      // Within the same turn: who asks from now on begins anew.
      this.#looking = undefined
      for (const resolve of [...this.#waiting.splice(0), ...this.#waitingForNext.splice(0)]) resolve()
    }
  }
}

/** The first ends the loop's round, which may have begun before; all that the next one finds has been heard of by the second. */
async function heard(): Promise<void> {
  await setImmediate()
  await setImmediate()
}

async function read(): Promise<MountTable | undefined> {
  try {
    return new MountTable(await readFile(TABLE))
  } catch {
    return undefined
  }
}
