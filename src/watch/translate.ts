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
import { append, type Change, type EntryChange } from './change.ts'
import { type Departure, Departures } from './departures.ts'
import { type Entries, type Entry, moved, sameFile, vanished } from './entries.ts'

/** A watched directory as the translation sees it. */
export interface Directory {
  entries: Entries
  /** Names that a listing has shown and no event has spoken of since: one that put them there may still come. */
  readonly listed: Set<string>
  pathOf(name: string): string
  ignores(name: string, kind: Entry['kind']): boolean
}

/** One event about a name in a watched directory. */
export interface DirectoryEvent {
  directory: Directory
  mask: number
  cookie: number
  name: string
}

/** What is at a name now, after the events were read; undefined: nothing. */
export type Look = (directory: Directory, name: string) => Entry | undefined

// How many events of other names were seen between the two halves of a rename, twice over.
const EXCHANGE_SPAN = 64

/**
 * Turns events into changes and keeps the directories' entries. The two halves of a rename are paired by cookie, never by
 * adjacency: other events come between them, and a read may end there.
 *
 * What is at a name is seen later than its event was made, and can be another file by then. So an entry takes over what is seen
 * only where it may be the file that the event was about.
 */
export class Translator {
  readonly #departures = new Departures()
  #batch: readonly DirectoryEvent[] = []
  #at = 0
  // Those events of the batch after which nothing in it puts another file at the name.
  #current: ReadonlySet<DirectoryEvent> = new Set()
  // The second arrivals of exchanges whose first has been told, and what arrives there.
  readonly #exchanges = new Map<DirectoryEvent, Entry>()

  get pending(): Departure[] {
    return [...this.#departures]
  }

  get isPending(): boolean {
    return this.#departures.size > 0
  }

  translate(events: readonly DirectoryEvent[], look: Look): Change[] {
    const changes: Change[] = []
    this.#batch = events
    this.#current = latest(events)
    this.#exchanges.clear()
    for (this.#at = 0; this.#at < events.length; this.#at++) {
      this.#translate(events[this.#at] as DirectoryEvent, look, changes)
    }
    this.#batch = []
    return changes
  }

  /** Nothing more will come for these: what has not arrived by now has left the tree and becomes a delete. */
  giveUp(departures: Iterable<Departure>): Change[] {
    const changes: Change[] = []
    for (const departure of departures) if (this.#departures.has(departure)) this.#giveUp(departure, changes)
    return changes
  }

  /** No event of this directory will come any more. */
  forget(directory: Directory): Change[] {
    return this.giveUp(this.#departures.allFrom(directory))
  }

  /** Something was seen at these names otherwise than by events: what left them is gone. */
  makeWay(directory: Directory, seen: Entries): Change[] {
    return this.giveUp(this.#departures.allFrom(directory).filter(({ name }) => seen.has(name)))
  }

  #translate(event: DirectoryEvent, look: Look, changes: Change[]): void {
    const { mask, directory, name } = event
    if (isAboutName(event)) this.#vacate(event, changes)
    if (mask & IN_MOVED_TO) this.#arrive(event, look, changes)
    else if (mask & IN_MOVED_FROM) this.#depart(event)
    else if (mask & IN_CREATE) this.#create(event, look, changes)
    else if (mask & IN_DELETE) this.#delete(event, changes)
    else if (mask & (IN_MODIFY | IN_CLOSE_WRITE)) this.#alter('modify', event, look, changes)
    else if (mask & IN_ATTRIB) this.#alter('attrib', event, look, changes)
    if (isAboutName(event)) directory.listed.delete(name)
  }

  // A name that left and comes or goes again is another's by now; only the order of its own delete and create is right.
  #vacate({ directory, name }: DirectoryEvent, changes: Change[]): void {
    const departed = this.#departures.from(directory, name)
    if (departed !== undefined) this.#giveUp(departed, changes)
  }

  #create(event: DirectoryEvent, look: Look, changes: Change[]): void {
    const { directory, name, mask } = event
    // Known already: from the listing that followed the watch, or from a poll.
    if (directory.entries.has(name)) return
    const none = vanished(mask & IN_ISDIR ? 'directory' : 'file')
    const entry = this.#upToDate(none, event, look(directory, name))
    if (directory.ignores(name, entry.kind)) return
    directory.entries.set(name, entry)
    append(changes, entryChange('create', event, entry))
  }

  #delete(event: DirectoryEvent, changes: Change[]): void {
    const { directory, name } = event
    const entry = directory.entries.get(name)
    if (entry === undefined) return
    directory.entries.delete(name)
    append(changes, entryChange('delete', event, entry))
  }

  #alter(type: 'modify' | 'attrib', event: DirectoryEvent, look: Look, changes: Change[]): void {
    const { directory, name } = event
    const before = directory.entries.get(name)
    const now = look(directory, name)
    if (before !== undefined) {
      directory.entries.set(name, this.#upToDate(before, event, now))
      append(changes, entryChange(type, event, before))
      return
    }
    // A writer takes the name under which it reports before it is renamed, and may queue behind the rename's first half.
    const departed = this.#departures.from(directory, name)
    if (departed !== undefined) append(changes, entryChange(type, event, departed.entry))
    // O_TMPFILE writes under a name that never exists; and IN_EXCL_UNLINK does not hold back what was queued before.
    else if (now !== undefined) this.#create(event, look, changes)
  }

  #depart({ directory, name, mask, cookie }: DirectoryEvent): void {
    const entry = directory.entries.get(name)
    if (entry === undefined) return
    directory.entries.delete(name)
    this.#departures.add({ cookie, directory, name, entry, mask })
  }

  #arrive(event: DirectoryEvent, look: Look, changes: Change[]): void {
    const { directory, name, mask, cookie } = event
    const departure = this.#departures.of(cookie)
    if (departure === undefined) {
      this.#arriveFromOutside(event, look, changes)
      return
    }
    this.#departures.delete(departure)
    if (directory.ignores(name, departure.entry.kind)) {
      append(changes, entryChange('delete', departure, departure.entry))
      return
    }
    const now = look(directory, name)
    const begun = this.#exchanges.get(event)
    if (begun !== undefined) departure.directory.entries.set(departure.name, departure.entry)
    const entry = this.#upToDate(begun ?? departure.entry, event, now)
    const known = directory.entries.get(name)
    // A listing may have seen it here before its event came: it displaces nothing.
    const displaced = directory.listed.has(name) && hasMoved(known, entry) ? undefined : known
    directory.entries.set(name, entry)
    const isExchanged = displaced !== undefined && this.#beginsExchange(departure, event, displaced, look)
    append(changes, {
      type: 'rename',
      from: departure.directory.pathOf(departure.name),
      path: directory.pathOf(name),
      replaced: displaced !== undefined && !isExchanged,
      kind: entry.kind,
      mask: mask | departure.mask,
      source: 'inotify',
    })
  }

  #arriveFromOutside(event: DirectoryEvent, look: Look, changes: Change[]): void {
    const { directory, name } = event
    const known = directory.entries.get(name)
    const now = look(directory, name)
    // The listing or the poll was quicker than the event.
    if (known !== undefined && now !== undefined && sameFile(known, now)) return
    if (known !== undefined && known.kind === now?.kind && known.kind !== 'directory') {
      directory.entries.set(name, now)
      append(changes, entryChange('modify', event, now))
    } else {
      this.#delete(event, changes)
      this.#create(event, look, changes)
    }
  }

  // renameat2(RENAME_EXCHANGE) is told as two renames, each onto the other's name; a rename over a file and back is told by the same
  // events. What the first seemed to replace is then gone or still there: the next event of its name tells, or else a look.
  #beginsExchange(from: Departure, to: DirectoryEvent, displaced: Entry, look: Look): boolean {
    const back = this.#wayBack(from, to)
    if (back === undefined) return false
    const rest = this.#batch.slice(this.#batch.indexOf(back, this.#at) + 1)
    const next = rest.find((event) => isAt(event, to))
    let survives: boolean
    // rename(2) puts no file over a directory and no directory over a file.
    if ((displaced.kind === 'directory') !== (from.entry.kind === 'directory')) survives = true
    else if (next !== undefined && !(next.mask & IN_MOVED_TO)) survives = !(next.mask & IN_CREATE)
    else survives = [from, to].some(({ directory, name }) => hasMoved(displaced, look(directory, name)))
    if (survives) this.#exchanges.set(back, displaced)
    return survives
  }

  /** The arrival of a rename of `to` to `from` that follows at once, before anything else becomes of the two names. */
  #wayBack(from: Departure, to: DirectoryEvent): DirectoryEvent | undefined {
    const next = this.#batch.slice(this.#at + 1, this.#at + 1 + EXCHANGE_SPAN)
    const [leaving, arriving] = next.filter((event) => isAt(event, from) || isAt(event, to))
    if (leaving === undefined || arriving === undefined) return undefined
    const isBack = isAt(leaving, to) && isAt(arriving, from) && leaving.cookie === arriving.cookie
    return isBack && leaving.mask & IN_MOVED_FROM && arriving.mask & IN_MOVED_TO ? arriving : undefined
  }

  #giveUp(departure: Departure, changes: Change[]): void {
    this.#departures.delete(departure)
    append(changes, entryChange('delete', departure, departure.entry))
  }

  /**
   * What is seen, if it can be the entry's file. By its inode number it may well be another: an earlier look was as much ahead of its
   * event. Nothing is lost by that, for the change is told after this look.
   */
  #upToDate(entry: Entry, event: DirectoryEvent, now: Entry | undefined): Entry {
    if (now === undefined || !this.#current.has(event)) return entry
    const unseen = entry.ino === 0n && (entry.kind === 'directory') === (now.kind === 'directory')
    return unseen || entry.kind === now.kind ? now : entry
  }
}

function hasMoved(entry: Entry | undefined, now: Entry | undefined): boolean {
  return entry !== undefined && now !== undefined && moved(entry, now)
}

function isAt(event: DirectoryEvent, { directory, name }: { directory: Directory; name: string }): boolean {
  return event.directory === directory && event.name === name && isAboutName(event)
}

// Whether the name stands for another file than before, or for none.
function isAboutName({ mask }: DirectoryEvent): boolean {
  return (mask & (IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE)) !== 0
}

function latest(events: readonly DirectoryEvent[]): Set<DirectoryEvent> {
  const found = new Set<DirectoryEvent>()
  const passed = new Map<Directory, Set<string>>()
  for (const event of events.toReversed()) {
    const names = passed.get(event.directory) ?? new Set()
    if (!names.has(event.name)) found.add(event)
    if (isAboutName(event)) passed.set(event.directory, names.add(event.name))
  }
  return found
}

function entryChange(
  type: EntryChange['type'],
  { directory, name, mask }: { directory: Directory; name: string; mask: number },
  { kind }: Entry,
): EntryChange {
  return { type, path: directory.pathOf(name), kind, mask, source: 'inotify' }
}
