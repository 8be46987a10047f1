import {
  IN_ATTRIB,
  IN_CLOSE_WRITE,
  IN_CREATE,
  IN_DELETE,
  IN_ISDIR,
  IN_MODIFY,
  IN_MOVED_FROM,
  IN_MOVED_TO,
} from '../inotify/constants.ts'
import type { BatchIndex } from './batch_index.ts'
import { append, type Change } from './change.ts'
import { type Departure, Departures } from './departures.ts'
import { Directory, isToEvents, isUnwatched, isWithin } from './directory.ts'
import { alteration, type Entry, sameFile } from './entries.ts'
import { findExchange, type Look, type WayBack } from './exchange.ts'
import { LatelyListed } from './lately_listed.ts'
import type { Surroundings } from './surroundings.ts'
import type { Tree } from './tree.ts'
import { ABOUT_NAME } from './watch_mask.ts'

// In place of the number of an event that was read earlier.
const NOT_INDEXED = -1

/**
 * Turns events into changes and keeps the tree. The two halves of a rename are paired by cookie, never by adjacency: other events come
 * between them, and a read may end there.
 *
 * What is at a name is seen later than its event was made, and can be another file by then. So it is taken for what the event was
 * about only if no later event of the name is known.
 */
export class Translator {
  readonly #tree: Tree
  readonly #around: Surroundings
  readonly #departures: Departures
  readonly listed = new LatelyListed()
  // The halves of an exchange that have been told with the two before them.
  readonly #done = new Set<number>()
  #changes: Change[] = []
  #index: BatchIndex | undefined
  #look: Look = () => undefined
  #lastReplacing: { from: Departure; directory: Directory; name: string } | undefined
  // The path that was made last: events come in runs.
  #directory: Directory | undefined
  #prefix = ''

  constructor(tree: Tree, around: Surroundings) {
    this.#tree = tree
    this.#around = around
    this.#departures = new Departures(tree)
  }

  get pending(): Departure[] {
    return [...this.#departures]
  }

  get isPending(): boolean {
    return this.#departures.size > 0
  }

  /** Whether something is believed to be here that has left already. */
  hasLeft(directory: Directory, name: string): boolean {
    return this.#departures.from(directory, name) !== undefined
  }

  /** What is believed to be here has not left after all: what was held back of it is told. */
  keep(directory: Directory, name: string): Change[] {
    const departure = this.#departures.from(directory, name)
    if (departure === undefined) return []
    this.#departures.delete(departure)
    this.#release(departure)
    return this.#take()
  }

  /** Whether a directory, or what it lies in, has left and not arrived. */
  isOnItsWay(directory: Directory): boolean {
    return this.#departures.above(directory) !== undefined
  }

  translate(index: BatchIndex, look: Look): Change[] {
    const { batch, start, end } = index
    this.#index = index
    this.#look = look
    this.#done.clear()
    for (let i = start; i < end; i++) {
      const name = index.name(i)
      if (name === '' || this.#done.has(i)) continue
      const wd = batch.wd(i)
      const only = this.#tree.onlyAt(wd)
      if (only !== undefined) this.#translate(only, i, batch.mask(i), batch.cookie(i), name)
      else
        for (const each of this.#tree.at(wd)) this.#translate(each, i, batch.mask(i), batch.cookie(i), name)
    }
    this.#index = undefined
    return this.#take()
  }

  /** Nothing more will come for these: what has not arrived by now has left the tree and becomes a delete. */
  giveUp(departures: Iterable<Departure>): Change[] {
    for (const departure of departures) this.#giveUp(departure)
    return this.#take()
  }

  #take(): Change[] {
    const changes = this.#changes
    this.#changes = []
    this.#directory = undefined
    return changes
  }

  #translate(directory: Directory, i: number, mask: number, cookie: number, name: string): void {
    // Where it goes to, and whether that is in the tree, is not known yet.
    const above = this.#departures.above(directory)
    if (above !== undefined) {
      above.held.push({ directory, mask, cookie, name })
      return
    }
    if (mask & ABOUT_NAME && this.#departures.size > 0) {
      this.#vacate(directory, name, mask & IN_MOVED_TO ? cookie : undefined)
      // It may have gone with what has been told then.
      if (!this.#tree.isAttached(directory)) return
    }
    if (mask & IN_ISDIR && mask & (IN_MOVED_FROM | IN_MOVED_TO)) this.#around.moved(directory)
    if (mask & IN_MOVED_TO) this.#arrive(directory, i, mask, cookie, name)
    else if (mask & IN_MOVED_FROM) this.#depart(directory, mask, cookie, name)
    else if (mask & IN_CREATE) this.#create(directory, i, mask, name)
    else if (mask & IN_DELETE) this.#delete(directory, mask, name)
    else if (mask & (IN_MODIFY | IN_CLOSE_WRITE)) this.#alter('modify', directory, i, mask, name)
    else if (mask & IN_ATTRIB) this.#alter('attrib', directory, i, mask, name)
    if (mask & ABOUT_NAME && this.listed.isAheadOf(directory)) {
      // It may be older than what was listed, and have been about something else of that name.
      this.#around.doubt(directory, name)
      this.listed.speakOf(directory, name)
    }
  }

  // A name that left and comes again is another's by now; only the order of its own delete and create is right.
  #vacate(directory: Directory, name: string, arriving: number | undefined): void {
    const departed = this.#departures.from(directory, name)
    // It may come back to where it left.
    if (departed === undefined || departed.cookie === arriving) return
    // Its arrival is queued behind, and is told before: else whoever reads the changes would take the new one for what moved.
    const arrival = this.#index?.arrival(departed.cookie)
    const to = arrival === undefined ? undefined : this.#tree.onlyAt(this.#index?.batch.wd(arrival) ?? 0)
    const isKnown = arrival !== undefined && to !== undefined && !this.#done.has(arrival)
    // Where it goes may itself be on its way.
    if (!isKnown || this.isOnItsWay(to)) this.#giveUp(departed)
    else {
      this.#done.add(arrival)
      const mask = this.#index?.batch.mask(arrival) ?? 0
      this.#translate(to, arrival, mask, departed.cookie, this.#index?.name(arrival) ?? '')
    }
  }

  #create(directory: Directory, i: number, mask: number, name: string): void {
    const known = this.#tree.entriesOf(directory).get(name)
    if (known !== undefined) {
      // Known already: from the listing that followed the watch, or from a poll.
      if (isToEvents(known) !== ((mask & IN_ISDIR) !== 0)) this.#around.doubt(directory, name)
      return
    }
    this.#put(directory, i, mask, name)
  }

  #put(directory: Directory, i: number, mask: number, name: string): void {
    const seen = this.#seen(i, name)
    const isDirectory = (mask & IN_ISDIR) !== 0
    const fits = seen && (seen.kind === 'directory') === isDirectory ? seen : undefined
    const kind = isDirectory ? 'directory' : (fits?.kind ?? 'file')
    const path = this.#pathOf(directory, name)
    if (this.#around.hides(path, kind)) return
    // What a link is told as depends on what it leads to.
    if (kind === 'symlink' && this.#around.follow(directory, name)) return
    if (isDirectory && this.#around.recursive) {
      const created = this.#tree.add(directory, name, 0, directory.territory)
      this.#around.list(created)
    } else this.#tree.entriesOf(directory).set(name, fits ?? { kind, ino: 0 })
    this.#tell({ type: 'create', path, kind, mask, source: 'inotify' })
  }

  #delete(directory: Directory, mask: number, name: string): void {
    const entry = this.#tree.entriesOf(directory).get(name)
    if (entry === undefined) return
    const path = this.#pathOf(directory, name)
    this.#remove(directory, name, entry)
    this.#tell({ type: 'delete', path, kind: entry.kind, mask, source: 'inotify' })
  }

  #alter(type: 'modify' | 'attrib', directory: Directory, i: number, mask: number, name: string): void {
    const entry = this.#tree.entriesOf(directory).get(name)
    if (entry === undefined) {
      // O_TMPFILE writes under a name that never exists; and IN_EXCL_UNLINK does not hold back what was queued before.
      this.#around.doubt(directory, name)
      return
    }
    if (isToEvents(entry) !== ((mask & IN_ISDIR) !== 0)) {
      this.#around.doubt(directory, name)
      return
    }
    // One that could not be read may be readable now.
    if (entry instanceof Directory && entry.territory.uncovered.has(entry)) this.#around.list(entry)
    const seen = this.#seen(i, name)
    let told = type
    if (seen && seen.kind === entry.kind && directory.territory.isPolled) {
      // What others have written since is told with it, or a poll would find nothing left to tell.
      if (alteration(entry, seen, 0) === 'modify') told = 'modify'
      entry.stat = seen.stat
      if (!(entry instanceof Directory)) entry.ino = seen.ino
    }
    const path = this.#pathOf(directory, name)
    this.#tell({ type: told, path, kind: entry.kind, mask, source: 'inotify' })
  }

  #depart(directory: Directory, mask: number, cookie: number, name: string): void {
    const entry = this.#tree.entriesOf(directory).get(name)
    if (entry === undefined) return
    // Something else has taken the name: by an exchange with what lies outside, or since this event, as a listing has shown.
    if (isToEvents(entry) !== ((mask & IN_ISDIR) !== 0)) this.#around.doubt(directory, name)
    else this.#departures.add({ cookie, directory, name, entry, mask, held: [] })
  }

  #arrive(directory: Directory, i: number, mask: number, cookie: number, name: string): void {
    const departure = this.#departures.of(cookie)
    if (departure === undefined) this.#arriveFromOutside(directory, i, mask, name)
    else this.#arriveFromWithin(departure, directory, i, mask, name)
  }

  #arriveFromOutside(directory: Directory, i: number, mask: number, name: string): void {
    const known = this.#tree.entriesOf(directory).get(name)
    const seen = this.#seen(i, name)
    const isDirectory = (mask & IN_ISDIR) !== 0
    if (known === undefined) this.#put(directory, i, mask, name)
    else if (isToEvents(known) !== isDirectory || (seen && seen.kind !== known.kind)) {
      this.#delete(directory, mask, name)
      this.#put(directory, i, mask, name)
    } else if (known instanceof Directory) {
      // Found before its event came; or another in place of an empty one, of which no event tells. The listing will show.
      this.#around.list(known)
    } else if (!isDirectory && !(seen && sameFile(known, seen) && this.listed.hasShown(directory, name))) {
      // Had it been the same, the listing or the poll would have been quicker than the event.
      this.#tree.entriesOf(directory).set(name, seen ?? { kind: known.kind, ino: 0 })
      const path = this.#pathOf(directory, name)
      this.#tell({ type: 'modify', path, kind: known.kind, mask, source: 'inotify' })
    }
  }

  #arriveFromWithin(departure: Departure, directory: Directory, i: number, mask: number, name: string): void {
    const { entry } = departure
    const path = this.#pathOf(directory, name)
    const known = this.#tree.entriesOf(directory).get(name)
    // Nothing takes the place of what it lies in: what is believed is out of date, and is looked at.
    const isAround = known instanceof Directory && isWithin(departure.directory, known)
    if (isAround) {
      this.#around.doubt(directory, name)
      this.#around.doubt(departure.directory, departure.name)
    }
    if (isAround || this.#around.hides(path, entry.kind)) {
      this.#giveUp(departure)
      if (isAround) this.#arriveFromOutside(directory, i, mask, name)
      return
    }
    const from = this.#tree.pathOf(departure.directory, departure.name)
    this.#departures.delete(departure)
    this.#takeOut(departure.directory, departure.name, entry)
    const index = i === NOT_INDEXED ? undefined : this.#index
    const wayBack = known && index && findExchange(index, this.#look, i, entry, known)
    if (known instanceof Directory && wayBack !== undefined) this.#tree.detach(known)
    else if (known !== undefined) this.#remove(directory, name, known)
    const seen = wayBack === undefined ? this.#seen(i, name) : undefined
    const placed = this.#place(entry, directory, name, seen)
    const { kind } = placed
    const replaced = known !== undefined && wayBack === undefined
    const both = mask | departure.mask
    this.#tell({ type: 'rename', from, path, replaced, kind, mask: both, source: 'inotify' })
    if (known !== undefined && wayBack !== undefined) this.#goBack(departure, from, path, known, wayBack)
    const isOutdated = this.listed.isAheadOf(directory) || this.listed.isAheadOf(departure.directory)
    // It may have been an exchange, whose other half comes with another read, or with what lies outside: see findExchange.
    const isOver = known instanceof Directory
    if (isOutdated || isOver || this.#isWayBack(departure, directory, name)) {
      this.#around.doubt(directory, name)
      this.#around.doubt(departure.directory, departure.name)
    }
    this.#lastReplacing = replaced ? { from: departure, directory, name } : undefined
    this.#hasMoved(placed)
    if (kind === 'symlink') this.#around.follow(directory, name)
    this.#release(departure)
  }

  /** What was held back while it was on its way. */
  #release({ held }: Departure): void {
    for (const { directory, mask, cookie, name } of held) {
      if (this.#tree.isAttached(directory)) this.#translate(directory, NOT_INDEXED, mask, cookie, name)
    }
  }

  /** The other half of an exchange. */
  #goBack({ directory, name }: Departure, from: string, path: string, entry: Entry, wayBack: WayBack): void {
    this.#done.add(wayBack.leaving)
    this.#done.add(wayBack.arriving)
    this.#place(entry, directory, name, undefined)
    const { kind } = entry
    const { mask } = wayBack
    this.#tell({ type: 'rename', from: path, path: from, replaced: false, kind, mask, source: 'inotify' })
    this.#hasMoved(entry)
  }

  /** Whether what the last rename put in the place of something goes back to where it was. */
  #isWayBack(departure: Departure, directory: Directory, name: string): boolean {
    const last = this.#lastReplacing
    if (last === undefined || last.directory !== departure.directory || last.name !== departure.name)
      return false
    return last.from.directory === directory && last.from.name === name
  }

  /**
   * What was seen takes its place, unless that is of another kind. By its inode number it may well be another: an earlier look was as
   * much ahead of its event. Nothing is lost by that, for the change is told after this look.
   */
  #place(entry: Entry, directory: Directory, name: string, seen: Entry | null | undefined): Entry {
    if (entry instanceof Directory) {
      this.#tree.attach(entry, directory, name)
      return entry
    }
    const isUnseen = entry.ino === 0 && (entry.kind === 'directory') === (seen?.kind === 'directory')
    const placed = seen && (isUnseen || entry.kind === seen.kind) ? seen : entry
    this.#tree.entriesOf(directory).set(name, placed)
    return placed
  }

  /** Below another name, other paths may be ignored. And what was renamed before it could be listed was not to be found. */
  #hasMoved(entry: Entry): void {
    this.#directory = undefined
    if (!(entry instanceof Directory)) return
    if (this.#around.hidesSome) for (const each of this.#tree.within(entry)) this.#around.list(each)
    else if (!entry.isListed || isUnwatched(entry)) this.#around.list(entry)
  }

  #giveUp(departure: Departure): void {
    const { directory, name, entry, mask } = departure
    const counts = this.#departures.counts(departure)
    this.#departures.delete(departure)
    if (!counts) {
      // Found where it is now: that was told.
      this.#release(departure)
      return
    }
    // What it is believed to have gone into is itself: that is out of date.
    if (departure.held.some(({ cookie }) => cookie === departure.cookie)) this.#around.doubt(directory, name)
    const path = this.#tree.pathOf(directory, name)
    this.#remove(directory, name, entry)
    this.#tell({ type: 'delete', path, kind: entry.kind, mask, source: 'inotify' })
  }

  #remove(directory: Directory, name: string, entry: Entry): void {
    if (entry instanceof Directory) this.#tree.drop(entry)
    else this.#tree.entriesOf(directory).delete(name)
    this.#directory = undefined
  }

  #takeOut(directory: Directory, name: string, entry: Entry): void {
    if (entry instanceof Directory) this.#tree.detach(entry)
    else this.#tree.entriesOf(directory).delete(name)
  }

  #seen(i: number, name: string): Entry | null | undefined {
    const index = this.#index
    if (index === undefined || i === NOT_INDEXED) return undefined
    const seen = this.#look(index.batch.wd(i), name)
    return seen === undefined || index.isLatest(i) ? seen : undefined
  }

  #pathOf(directory: Directory, name: string): string {
    if (directory !== this.#directory) {
      this.#directory = directory
      this.#prefix = this.#tree.pathOf(directory, '')
    }
    return this.#prefix + name
  }

  #tell(change: Change): void {
    append(this.#changes, change)
  }
}
