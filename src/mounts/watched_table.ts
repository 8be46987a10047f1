import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { setImmediate as nextRound } from 'node:timers/promises'
import { loadAddon, type NativeMountTable } from '../addon.ts'
import { CoalescedTask } from '../coalesced_task.ts'
import { InotifyError } from '../errors.ts'
import { MountTable } from './mount_table.ts'

const TABLE = '/proc/self/mountinfo'

/** Receives each table that was read since the kernel told of a change. */
export type TableListener = (table: MountTable) => void

/** The mount table, one descriptor and one read for all that listen. Nothing wakes up while the table stays as it is. */
export class WatchedTable {
  readonly #listeners = new Set<TableListener>()
  // One at a time: of two tables that are read at once the older one may come last.
  readonly #looks = new CoalescedTask(() => this.#lookNow())
  #native: NativeMountTable | undefined
  // The look that the last change has asked for, until it is over.
  #due: Promise<void> | undefined
  // The table that was read in this turn of the event loop.
  #last: MountTable | undefined
  // True: a read has failed, and the listeners have not had the table since.
  #isStale = false

  /** False when the last listener has left: another object has to be made then. */
  get isOpen(): boolean {
    return this.#native !== undefined
  }

  /**
   * Returns the table. Callers in one turn of the event loop share a read, unless something is mounted between them: no longer, as the
   * kernel has no news of a rename, which moves the mount points below. Throws as the read fails.
   */
  now(): MountTable {
    if (this.#last !== undefined && this.#native?.hasChanged()) this.#look()
    return this.#last ?? this.read()
  }

  /** Reads the table anew, for who has just heard of a rename. Throws as the read fails. */
  read(): MountTable {
    const table = new MountTable(readFileSync(TABLE))
    if (this.isOpen) {
      this.#last = table
      setImmediate(() => {
        this.#last = undefined
      })
    }
    return table
  }

  /**
   * Returns the table as {@link now} does; undefined: nobody could read it, and the listener will get it. False without /proc, where there is nothing to tell.
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
    if (this.#isStale && this.#due === undefined) this.#look()
    await this.#due
  }

  #open(): boolean {
    const native = new (loadAddon().MountTable)()
    const error = native.open(() => this.#look())
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
    if (this.isOpen) this.#look()
  }

  #look(): void {
    this.#last = undefined
    const due = this.#looks.run().finally(() => {
      if (this.#due === due) this.#due = undefined
    })
    this.#due = due
  }

  async #lookNow(): Promise<void> {
    // To a listener that joins meanwhile the table would be older than its own.
    const listeners = [...this.#listeners]
    const bytes = await readFile(TABLE).catch(() => undefined)
    this.#isStale = bytes === undefined
    if (bytes === undefined) return
    const table = new MountTable(bytes)
    for (const listener of listeners) if (this.#listeners.has(listener)) listener(table)
  }
}

/** The first ends the loop's round, which may have begun before; all that the next one finds has been heard of by the second. */
async function heard(): Promise<void> {
  await nextRound()
  await nextRound()
}
