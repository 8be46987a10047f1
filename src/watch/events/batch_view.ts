import type { EventBatch } from '../../inotify/batch.ts'
import { IN_DELETE, IN_ISDIR, IN_MOVED_FROM, IN_MOVED_TO } from '../../inotify/constants.ts'
import { keyAt } from '../../name_key.ts'
import type { Entry, LookedAt } from '../scan/entry.ts'
import { ABOUT_NAME, GONE } from './watch_mask.ts'

/** A name that events are about. It is that of a watch: one inode has one, by however many paths it is watched. */
export interface NamedInBatch extends LookedAt {
  /** The number of the last event about the name, and its mask; {@link NONE}: what has it was only written to. */
  last: number
  mask: number
  /** Later events speak of it, which are told with the next read: what was seen is what those have made of it. */
  isForNext: boolean
}

const NONE = -1

/** What is to be looked at, by wd. */
export type OpenNames = ReadonlyMap<number, readonly NamedInBatch[]>

/**
 * What the events from `start` to `end` of a batch say of each other, and what was seen at their names: that is later than an event was made, and can be
 * another file by then.
 */
export class BatchView {
  readonly batch: EventBatch
  readonly start: number
  readonly end: number
  readonly #keepsStat: (wd: number) => boolean
  readonly #byWd = new Map<number, Map<string, NamedInBatch>>()
  // The watch of the event before: events come in runs.
  #wd = 0
  #isKept = false
  #names: Map<string, NamedInBatch> | undefined
  // Of each event, its name; and what is known of that, but for a write where no stat is kept: the event says all there is to tell of it.
  readonly #nameOf: string[] = []
  readonly #namedOf: Array<NamedInBatch | undefined> = []
  // Of each event about a name, the next one about the same; 0: none.
  readonly #next: Int32Array
  readonly #pendingMoves = new Map<number, number>()
  readonly #arrivals = new Map<number, number>()
  readonly #gone: number[] = []
  #open: OpenNames | undefined

  /** @param keepsStat whether what is known of the names of a watch includes what a write changes */
  constructor(batch: EventBatch, start: number, end: number, keepsStat: (wd: number) => boolean) {
    this.batch = batch
    this.start = start
    this.end = end
    this.#next = new Int32Array(end - start)
    this.#keepsStat = keepsStat
    for (let i = start; i < end; i++) {
      const name = keyAt(batch, i)
      const mask = batch.mask(i)
      this.#nameOf.push(name)
      this.#namedOf.push(name === '' ? undefined : this.#take(i, mask, name))
      if (mask & GONE) this.#gone.push(i)
    }
  }

  /** As keyOf makes it. */
  name(i: number): string {
    return this.#nameOf[i - this.start] as string
  }

  /** The next event about this event's name; undefined: none. */
  next(i: number): number | undefined {
    return this.#next[i - this.start] || undefined
  }

  /** Whether no later event puts another file at this event's name, or takes it away. */
  isLatest(i: number): boolean {
    const named = this.#namedOf[i - this.start]
    return named === undefined || named.last <= i
  }

  /** What was at this event's name when the batch had been read. null: nothing; undefined: nobody has looked. */
  seen(i: number): Entry | null | undefined {
    return this.#namedOf[i - this.start]?.seen
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

  /** The events by which what is watched is gone, or no longer where it was. */
  get gone(): readonly number[] {
    return this.#gone
  }

  /** The names that events are about, by wd: all but those that were written to where an event tells of each write. */
  get named(): ReadonlyMap<number, ReadonlyMap<string, NamedInBatch>> {
    return this.#byWd
  }

  /** The names of which the events leave open what is there now. */
  get open(): OpenNames {
    this.#open ??= this.#findOpen()
    return this.#open
  }

  /** Takes over what was seen at the names of a longer view, but for those of which the rest of it speaks. */
  takeSeen(whole: BatchView, rest: BatchView): void {
    for (const [wd, names] of this.#byWd) {
      const [wholeNames, restNames] = [whole.#byWd.get(wd), rest.#byWd.get(wd)]
      for (const named of names.values()) {
        named.isForNext = (restNames?.get(named.name)?.last ?? NONE) !== NONE
        if (!named.isForNext) named.seen = wholeNames?.get(named.name)?.seen
      }
    }
    this.#open = undefined
  }

  #findOpen(): OpenNames {
    const open = new Map<number, readonly NamedInBatch[]>()
    for (const [wd, names] of this.#byWd) {
      const some: NamedInBatch[] = []
      const isAll = this.#isKeptAt(wd)
      for (const named of names.values()) {
        const { last, mask, isForNext } = named
        if (!isForNext && (isAll || last === NONE || leavesOpen(mask))) some.push(named)
      }
      if (some.length > 0) open.set(wd, some)
    }
    return open
  }

  #isKeptAt(wd: number): boolean {
    if (wd !== this.#wd) {
      this.#wd = wd
      this.#isKept = this.#keepsStat(wd)
      this.#names = this.#byWd.get(wd)
    }
    return this.#isKept
  }

  #take(i: number, mask: number, name: string): NamedInBatch | undefined {
    const { batch } = this
    const isKept = this.#isKeptAt(batch.wd(i))
    if (!(mask & ABOUT_NAME)) return isKept ? this.#namedAs(name) : undefined
    const named = this.#namedAs(name)
    if (named.last !== NONE) this.#next[named.last - this.start] = i
    named.last = i
    named.mask = mask
    if (mask & IN_MOVED_FROM) this.#pendingMoves.set(batch.cookie(i), i)
    else if (mask & IN_MOVED_TO) this.#arrivals.set(batch.cookie(i), i)
    return named
  }

  /** Of the watch at hand. */
  #namedAs(name: string): NamedInBatch {
    if (this.#names === undefined) {
      this.#names = new Map()
      this.#byWd.set(this.#wd, this.#names)
    }
    const known = this.#names.get(name)
    if (known !== undefined) return known
    const named = { name, last: NONE, mask: 0, seen: undefined, isForNext: false }
    this.#names.set(name, named)
    return named
  }
}

// What was created may be of any kind but a directory, and what comes from elsewhere may have been known before. Where a name
// was left, a device may have come up (RENAME_WHITEOUT), or the other side of an exchange.
function leavesOpen(mask: number): boolean {
  return (mask & IN_MOVED_FROM) !== 0 || (mask & (IN_DELETE | IN_ISDIR)) === 0
}
