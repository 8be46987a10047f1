import type { EventBatch } from '../../inotify/batch.ts'
import { IN_DELETE, IN_IGNORED, IN_ISDIR, IN_MOVED_FROM, IN_MOVED_TO } from '../../inotify/constants.ts'
import { keyAt } from '../../name_key.ts'
import type { Entry, LookedAt } from '../scan/entry.ts'
import { ABOUT_NAME } from './watch_mask.ts'

/** A name that events are about, in the directory of one wd: an inode has one wd, by however many paths it is watched. */
export interface NamedInBatch extends LookedAt {
  /** The number and mask of the last event that put a file at the name or took it away; {@link NONE}: the file there was only written to. */
  last: number
  mask: number
}

const NONE = -1

/** The names to be looked at, by wd. */
export type OpenNames = ReadonlyMap<number, readonly NamedInBatch[]>

/**
 * The events from `start` to `end` of a batch, how they relate, and what a look has seen at their names. The look is later than an event was made, and
 * another file can be there by then.
 */
export class BatchView {
  readonly batch: EventBatch
  readonly start: number
  readonly end: number
  readonly #keepsStat: (wd: number) => boolean
  /** The names that events are about, by wd. A name that was only written to is left out where no stat is kept: each write has its event. */
  readonly named = new Map<number, Map<string, NamedInBatch>>()
  /** The watches that the kernel has removed. */
  readonly removed: number[] = []
  // The watch of the event before: events come in runs.
  #wd = 0
  #isKept = false
  #names: Map<string, NamedInBatch> | undefined
  // By event: its name, and the name's record. undefined: a write where no stat is kept, of which the event says all.
  readonly #nameOf: string[] = []
  readonly #namedOf: Array<NamedInBatch | undefined> = []
  // By event about a name: the number of the next event about the same name; 0: none.
  readonly #next: Int32Array
  /** The events that are first halves of renames, by their cookies, and the second halves. */
  readonly departures = new Map<number, number>()
  readonly arrivals = new Map<number, number>()
  /** The events that were translated before their turn. */
  readonly done = new Set<number>()

  /** @param keepsStat returns true if the names of a wd are known with a stat, which a write changes */
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
      if (mask & IN_IGNORED) this.removed.push(batch.wd(i))
    }
  }

  /** Returns an event's name as a key: see keyOf. */
  name(i: number): string {
    return this.#nameOf[i - this.start] as string
  }

  /** Returns the next event about this event's name. undefined: none. */
  next(i: number): number | undefined {
    return this.#next[i - this.start] || undefined
  }

  /** Returns what was seen at this event's name after the batch was read. null: nothing; undefined: no look was made. */
  seen(i: number): Entry | null | undefined {
    return this.#namedOf[i - this.start]?.seen
  }

  /** Returns the entry that an event was about, if no later event tells that another may be there by now. null: nothing is there; undefined: not known. */
  seenOf(i: number): Entry | null | undefined {
    const named = this.#namedOf[i - this.start]
    return named !== undefined && named.last <= i ? named.seen : undefined
  }

  /** Returns the names at which the events leave open what is there now. */
  findOpen(): OpenNames {
    const open = new Map<number, readonly NamedInBatch[]>()
    for (const [wd, names] of this.named) {
      const some: NamedInBatch[] = []
      const isAll = this.#isKeptAt(wd)
      for (const named of names.values()) {
        if (isAll || named.last === NONE || leavesOpen(named.mask)) some.push(named)
      }
      if (some.length > 0) open.set(wd, some)
    }
    return open
  }

  #isKeptAt(wd: number): boolean {
    if (wd !== this.#wd) {
      this.#wd = wd
      this.#isKept = this.#keepsStat(wd)
      this.#names = this.named.get(wd)
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
    if (mask & IN_MOVED_FROM) this.departures.set(batch.cookie(i), i)
    else if (mask & IN_MOVED_TO) this.arrivals.set(batch.cookie(i), i)
    return named
  }

  /** Returns the record of a name of the current wd, and adds it if there is none. */
  #namedAs(name: string): NamedInBatch {
    if (this.#names === undefined) {
      this.#names = new Map()
      this.named.set(this.#wd, this.#names)
    }
    const known = this.#names.get(name)
    if (known !== undefined) return known
    const named = { name, last: NONE, mask: 0, seen: undefined }
    this.#names.set(name, named)
    return named
  }
}

// A created entry may be of any kind but a directory, and an entry from elsewhere may have been known before. At a name
// that was left, a device may have come up (RENAME_WHITEOUT), or the other side of an exchange.
function leavesOpen(mask: number): boolean {
  return (mask & IN_MOVED_FROM) !== 0 || (mask & (IN_DELETE | IN_ISDIR)) === 0
}
