import type { EventBatch } from '../../inotify/batch.ts'
import { IN_DELETE, IN_ISDIR, IN_MOVED_FROM, IN_MOVED_TO } from '../../inotify/constants.ts'
import { keyAt } from '../report/name_key.ts'
import { ABOUT_NAME } from './watch_mask.ts'

/**
 * What the events from `start` to `end` of a batch say of each other. A name is that of a watch: one inode has one, by however many
 * paths it is watched.
 */
export class BatchView {
  readonly batch: EventBatch
  readonly start: number
  readonly end: number
  readonly #keepsStat: (wd: number) => boolean
  #lastWd = 0
  #isLastKept = false
  readonly #names: string[] = []
  // Of each event about a name, the next one about the same; 0: none.
  readonly #next: Int32Array
  readonly #pendingMoves = new Map<number, number>()
  readonly #arrivals = new Map<number, number>()
  // The last event about each name, and the names that were only written to, by wd.
  readonly #last = new Map<number, Map<string, number>>()
  readonly #written = new Map<number, Set<string>>()

  /** @param keepsStat whether what is known of the names of a watch includes what a write changes */
  constructor(batch: EventBatch, start: number, end: number, keepsStat: (wd: number) => boolean) {
    this.batch = batch
    this.start = start
    this.end = end
    this.#next = new Int32Array(end - start)
    this.#keepsStat = keepsStat
    for (let i = start; i < end; i++) {
      const name = keyAt(batch, i)
      this.#names.push(name)
      if (name === '') continue
      if (batch.mask(i) & ABOUT_NAME) this.#addAboutName(i, name)
      else if (this.#isKept(batch.wd(i))) this.#addWritten(batch.wd(i), name)
    }
  }

  /** As {@link keyOf} makes it. */
  name(i: number): string {
    return this.#names[i - this.start] as string
  }

  /** The next event about this event's name; undefined: none. */
  next(i: number): number | undefined {
    return this.#next[i - this.start] || undefined
  }

  /** Whether no later event puts another file at this event's name, or takes it away. */
  isLatest(i: number): boolean {
    const last = this.last(this.batch.wd(i), this.name(i))
    return last === undefined || last <= i
  }

  /** The last event about a name; undefined: none. */
  last(wd: number, name: string): number | undefined {
    return this.#last.get(wd)?.get(name)
  }

  /** Whether anything has left a name. */
  get hasDepartures(): boolean {
    return this.#pendingMoves.size > 0
  }

  /** The halves of the rename with this cookie, where they are among these events. */
  pendingMove(cookie: number): number | undefined {
    return this.#pendingMoves.get(cookie)
  }

  arrival(cookie: number): number | undefined {
    return this.#arrivals.get(cookie)
  }

  /** Every name that an event is about, by wd, and the last such event. */
  get named(): ReadonlyMap<number, ReadonlyMap<string, number>> {
    return this.#last
  }

  /** The names of each watch of which the events leave open what is there now. */
  open(): Map<number, Set<string>> {
    const open = new Map(this.#written)
    for (const [wd, names] of this.#last) {
      const some = open.get(wd) ?? new Set<string>()
      const isAll = this.#isKept(wd)
      for (const [name, i] of names) if (isAll || this.#leavesOpen(i)) some.add(name)
      if (some.size > 0) open.set(wd, some)
    }
    return open
  }

  // What was created may be of any kind but a directory, and what comes from elsewhere may have been known before. Where a name
  // was left, a device may have come up (RENAME_WHITEOUT), or the other side of an exchange.
  #leavesOpen(i: number): boolean {
    const mask = this.batch.mask(i)
    if (mask & IN_MOVED_FROM) return true
    return (mask & (IN_DELETE | IN_ISDIR)) === 0
  }

  // Events come in runs.
  #isKept(wd: number): boolean {
    if (wd !== this.#lastWd) {
      this.#lastWd = wd
      this.#isLastKept = this.#keepsStat(wd)
    }
    return this.#isLastKept
  }

  #addAboutName(i: number, name: string): void {
    const { batch } = this
    const wd = batch.wd(i)
    let names = this.#last.get(wd)
    if (names === undefined) {
      names = new Map()
      this.#last.set(wd, names)
    }
    const before = names.get(name)
    if (before !== undefined) this.#next[before - this.start] = i
    names.set(name, i)
    if (batch.mask(i) & IN_MOVED_FROM) this.#pendingMoves.set(batch.cookie(i), i)
    else if (batch.mask(i) & IN_MOVED_TO) this.#arrivals.set(batch.cookie(i), i)
  }

  #addWritten(wd: number, name: string): void {
    const names = this.#written.get(wd)
    if (names === undefined) this.#written.set(wd, new Set([name]))
    else names.add(name)
  }
}
