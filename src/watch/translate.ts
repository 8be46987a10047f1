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
import { append, type Change, type Kind } from './change.ts'
import { type Departure, Departures } from './departures.ts'
import { Directory, isLinkBase, isUnwatched } from './directory.ts'
import { alteration, type Entry, sameFile } from './entries.ts'
import type { Territory } from './territory.ts'
import type { Tree } from './tree.ts'
import { ABOUT_NAME } from './watch_mask.ts'

/** What is at a name, looked at after the batch was read: null, nothing; undefined, not looked at. */
export type Look = (wd: number, name: string) => Entry | null | undefined

/** What the translation asks of its surroundings. */
export interface Surroundings {
  /** Whether what would have this path is not to be reported. Paths are keys. */
  hides(path: string, kind: Kind): boolean
  readonly hidesSome: boolean
  /** A directory whose entries are to be listed, for the first time or again. */
  list(directory: Directory): void
  /** A symlink has come up. True: where it leads is looked at, and it is told then. */
  follow(directory: Directory, name: string, mask: number): boolean
  /** What an event said of this name does not fit what is believed: to be looked at when things have settled. */
  doubt(directory: Directory, name: string): void
  /** Whether directories within directories are watched. */
  readonly recursive: boolean
  /** Whether symlinks to directories are taken for them. */
  readonly followsLinks: boolean
}

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
  readonly #departures = new Departures()
  // Directories that were listed lately, and the names in them of which an event has told since. Of the others, the event that put
  // them there may still come.
  readonly #listed = new Map<Directory | Territory, Map<Directory, Set<string>>>()
  // Those that were since the last {@link holdListed}.
  readonly #relisted = new Set<Directory | Territory>()
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
  }

  get pending(): Departure[] {
    return [...this.#departures]
  }

  get isPending(): boolean {
    return this.#departures.size > 0
  }

  /** A listing of a directory, or of everything in a territory, has shown what events may still tell. */
  setListed(listed: Directory | Territory): void {
    this.#listed.set(listed, new Map())
    this.#relisted.add(listed)
  }

  isListed(listed: Directory | Territory): boolean {
    return this.#listed.has(listed)
  }

  get hasListed(): boolean {
    return this.#listed.size > 0
  }

  /** Every event that was queued before those listings that there have been when it is called has been told when the answer is. */
  holdListed(): () => void {
    const held = [...this.#listed.keys()]
    this.#relisted.clear()
    return () => {
      for (const each of held) if (!this.#relisted.has(each)) this.#listed.delete(each)
    }
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
    for (const departure of departures) if (this.#departures.has(departure)) this.#giveUp(departure)
    return this.#take()
  }

  departureOf(entry: Entry): Departure | undefined {
    return this.#departures.ofEntry(entry)
  }

  /** What is on its way has been found: it is no departure any more. */
  retrieve(departure: Departure): void {
    this.#departures.delete(departure)
  }

  /** Something was seen at this name otherwise than by events: what left it is gone. */
  makeWay(directory: Directory, name: string): Change[] {
    const departed = this.#departures.from(directory, name)
    if (departed !== undefined) this.#giveUp(departed)
    return this.#take()
  }

  /** As those who know nothing but the changes have it; undefined if they have it no more. What is on its way is where it was. */
  believedPath(directory: Directory, name: string): string | undefined {
    const top = this.#tree.topOf(directory)
    if (top.isRoot) return this.#tree.pathOf(directory, name)
    const departure = this.#departures.ofEntry(top)
    if (departure === undefined) return undefined
    const from = this.believedPath(departure.directory, departure.name)
    // pathOf begins with the name of the one on its way.
    return from === undefined
      ? undefined
      : from + this.#tree.pathOf(directory, name).slice(top.name.length + 1)
  }

  #take(): Change[] {
    const changes = this.#changes
    this.#changes = []
    this.#directory = undefined
    return changes
  }

  #translate(directory: Directory, i: number, mask: number, cookie: number, name: string): void {
    const top = this.#tree.topOf(directory)
    if (!top.isRoot) {
      this.#departures.ofEntry(top)?.held.push({ directory, mask, cookie, name })
      return
    }
    if (mask & ABOUT_NAME && this.#departures.size > 0) {
      this.#vacate(directory, name, mask & IN_MOVED_TO ? cookie : undefined)
      // What has arrived then may have taken this directory with it.
      if (!this.#tree.isAttached(directory)) {
        this.#translate(directory, i, mask, cookie, name)
        return
      }
    }
    if (mask & IN_MOVED_TO) this.#arrive(directory, i, mask, cookie, name)
    else if (mask & IN_MOVED_FROM) this.#depart(directory, mask, cookie, name)
    else if (mask & IN_CREATE) this.#create(directory, i, mask, name)
    else if (mask & IN_DELETE) this.#delete(directory, mask, name)
    else if (mask & (IN_MODIFY | IN_CLOSE_WRITE)) this.#alter('modify', directory, i, mask, name)
    else if (mask & IN_ATTRIB) this.#alter('attrib', directory, i, mask, name)
    if (mask & ABOUT_NAME && this.#mayBeOutdated(directory)) {
      // It may be older than what was listed, and have been about something else of that name.
      this.#around.doubt(directory, name)
      this.#speakOf(directory, name)
    }
  }

  #mayBeOutdated(directory: Directory): boolean {
    return this.#listed.size > 0 && (this.#listed.has(directory) || this.#listed.has(directory.territory))
  }

  /** A listing has shown this name, and no event has spoken of it since. */
  #wasListed(directory: Directory, name: string): boolean {
    const spoken = this.#listed.get(directory) ?? this.#listed.get(directory.territory)
    return spoken !== undefined && !spoken.get(directory)?.has(name)
  }

  #speakOf(directory: Directory, name: string): void {
    const spoken = this.#listed.get(directory) ?? this.#listed.get(directory.territory)
    if (spoken === undefined) return
    const names = spoken.get(directory)
    if (names === undefined) spoken.set(directory, new Set([name]))
    else names.add(name)
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
    if (!isKnown || !this.#tree.isAttached(to)) this.#giveUp(departed)
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
    if (kind === 'symlink' && this.#around.follow(directory, name, mask)) return
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
      // A writer takes the name under which it reports before it is renamed, and may queue behind the rename's first half.
      const departed = this.#departures.from(directory, name)
      if (departed === undefined) {
        // O_TMPFILE writes under a name that never exists; and IN_EXCL_UNLINK does not hold back what was queued before.
        this.#around.doubt(directory, name)
        return
      }
      this.#tell({
        type,
        path: this.#pathOf(directory, name),
        kind: departed.entry.kind,
        mask,
        source: 'inotify',
      })
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
    const entries = this.#tree.entriesOf(directory)
    const entry = entries.get(name)
    if (entry === undefined) return
    if (isToEvents(entry) !== ((mask & IN_ISDIR) !== 0)) {
      // Something else has taken the name: by an exchange with what lies outside, or since this event, as a listing has shown.
      this.#around.doubt(directory, name)
      return
    }
    if (entry instanceof Directory) this.#tree.detach(entry)
    else entries.delete(name)
    this.#departures.add({ cookie, directory, name, entry, mask, held: [] })
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
    } else if (!isDirectory && !(seen && sameFile(known, seen) && this.#wasListed(directory, name))) {
      // Had it been the same, the listing or the poll would have been quicker than the event.
      this.#tree.entriesOf(directory).set(name, seen ?? { kind: known.kind, ino: 0 })
      const path = this.#pathOf(directory, name)
      this.#tell({ type: 'modify', path, kind: known.kind, mask, source: 'inotify' })
    }
  }

  #arriveFromWithin(departure: Departure, directory: Directory, i: number, mask: number, name: string): void {
    const { entry } = departure
    const from = this.believedPath(departure.directory, departure.name)
    const path = this.#pathOf(directory, name)
    if (from === undefined) {
      // Where it was is gone, by what was listed meanwhile; where it comes to, it is new.
      this.#giveUp(departure)
      this.#arriveFromOutside(directory, i, mask, name)
      return
    }
    if (this.#around.hides(path, entry.kind)) {
      this.#giveUp(departure)
      return
    }
    this.#departures.delete(departure)
    const known = this.#tree.entriesOf(directory).get(name)
    // A listing may have seen it here before its event came: it displaces nothing.
    const isSame = known !== undefined && sameFile(known, entry) && this.#wasListed(directory, name)
    const displaced = isSame ? undefined : known
    // Nothing changes places with what it lies in: then what is believed is out of date, and is looked at.
    const isAround = displaced instanceof Directory && this.#isWithin(departure.directory, displaced)
    if (isAround) this.#around.doubt(directory, name)
    const backMask = displaced && !isAround ? this.#exchangeMask(departure, i, displaced) : undefined
    if (known instanceof Directory && backMask !== undefined) this.#tree.detach(known)
    else if (known !== undefined) this.#remove(directory, name, known)
    const seen = backMask === undefined ? this.#seen(i, name) : undefined
    const placed = this.#place(entry, directory, name, seen)
    const { kind } = placed
    const replaced = displaced !== undefined && backMask === undefined
    const both = mask | departure.mask
    this.#tell({ type: 'rename', from, path, replaced, kind, mask: both, source: 'inotify' })
    if (displaced !== undefined && backMask !== undefined) {
      const { kind } = displaced
      this.#place(displaced, departure.directory, departure.name, undefined)
      this.#tell({
        type: 'rename',
        from: path,
        path: from,
        replaced: false,
        kind,
        mask: backMask,
        source: 'inotify',
      })
      this.#hasMoved(displaced)
    }
    const isOutdated = this.#mayBeOutdated(directory) || this.#mayBeOutdated(departure.directory)
    // It may have been an exchange, whose other half comes with another read: see #exchangeMask.
    if (isOutdated || this.#isWayBack(departure, directory, name)) {
      this.#around.doubt(directory, name)
      this.#around.doubt(departure.directory, departure.name)
    }
    this.#lastReplacing = replaced ? { from: departure, directory, name } : undefined
    this.#hasMoved(placed)
    if (kind === 'symlink') this.#around.follow(directory, name, 0)
    for (const event of departure.held) {
      this.#translate(event.directory, NOT_INDEXED, event.mask, event.cookie, event.name)
    }
  }

  #isWithin(directory: Directory, other: Directory): boolean {
    for (let each: Directory | undefined = directory; each !== undefined; each = each.parent) {
      if (each === other) return true
    }
    return false
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

  /**
   * renameat2(RENAME_EXCHANGE) is told as two renames, each onto the other's name; a rename over a file and back is told by the same
   * events. What the first seemed to displace is then there or gone: what becomes of the names tells. The mask of the second
   * rename, which is then taken as told; undefined if this is no exchange.
   */
  #exchangeMask(departure: Departure, i: number, displaced: Entry): number | undefined {
    const index = this.#index
    const left = index?.departure(departure.cookie)
    if (index === undefined || left === undefined || i === NOT_INDEXED) return undefined
    const [leaving, arriving] = [index.next(i), index.next(left)]
    if (leaving === undefined || arriving === undefined) return undefined
    const { batch } = index
    const masks = [batch.mask(leaving), batch.mask(arriving)] as const
    const isBack = batch.cookie(leaving) === batch.cookie(arriving)
    if (!isBack || !(masks[0] & IN_MOVED_FROM) || !(masks[1] & IN_MOVED_TO)) return undefined
    // rename(2) puts no file over a directory and no directory over a file.
    const isSwap = isToEvents(displaced) !== isToEvents(departure.entry)
    if (!isSwap && !this.#hasSwapped(departure.entry, displaced, leaving, arriving)) return undefined
    this.#done.add(leaving)
    this.#done.add(arriving)
    return masks[0] | masks[1]
  }

  /**
   * Whether `came` and `displaced` have swapped names; else `came` has gone back over nothing. `leaving`: the event by which it seemed
   * to go, `arriving`: by which it seemed to come back.
   */
  #hasSwapped(came: Entry, displaced: Entry, leaving: number, arriving: number): boolean {
    const index = this.#index as BatchIndex
    const next = index.next(leaving)
    const nextMask = next === undefined ? 0 : index.batch.mask(next)
    if (nextMask & (IN_MOVED_FROM | IN_DELETE)) return true
    if (nextMask & IN_CREATE) return false
    const atOrigin =
      index.next(arriving) === undefined ? this.#seen(arriving, index.name(arriving)) : undefined
    if (atOrigin && atOrigin.ino !== 0 && (atOrigin.ino === came.ino || atOrigin.ino === displaced.ino)) {
      return atOrigin.ino === displaced.ino
    }
    const there = this.#seenAtLast(leaving)
    if (next === undefined) return there?.kind === came.kind && (came.ino === 0 || there.ino === came.ino)
    // Swapped back and forth.
    return Boolean(there) && Boolean(this.#seenAtLast(arriving))
  }

  /** What is now at the name that an event is about. */
  #seenAtLast(i: number): Entry | null | undefined {
    const index = this.#index as BatchIndex
    return this.#look(index.batch.wd(i), index.name(i))
  }

  #giveUp(departure: Departure): void {
    const { directory, name, entry, mask } = departure
    const path = this.believedPath(directory, name)
    this.#departures.delete(departure)
    if (entry instanceof Directory) this.#tree.drop(entry)
    if (path !== undefined) this.#tell({ type: 'delete', path, kind: entry.kind, mask, source: 'inotify' })
  }

  #remove(directory: Directory, name: string, entry: Entry): void {
    if (entry instanceof Directory) this.#tree.drop(entry)
    else this.#tree.entriesOf(directory).delete(name)
    this.#directory = undefined
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

/** Whether the kernel's events say IN_ISDIR of it: not of a link to a directory. */
function isToEvents(entry: Entry): boolean {
  return entry.kind === 'directory' && !(entry instanceof Directory && isLinkBase(entry))
}
