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
import { append, type Change, type EntryChange, type RenameChange } from './change.ts'
import { alteration, type Entries, type Entry, vanished } from './entries.ts'

/** A watched directory as the translation sees it. */
export interface Directory {
  entries: Entries
  /** Polled as well: an event may tell what a poll has already told. */
  readonly polled: boolean
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

interface Departure {
  cookie: number
  directory: Directory
  name: string
  entry: Entry
  mask: number
}

/**
 * Turns events into changes and keeps the directories' entries. The two halves of a rename are paired by cookie, never by
 * adjacency: other events come between them, and a read may end there.
 */
export class Translator {
  // Names that have left and may yet arrive. A handful at most: the kernel queues the second half within a millisecond.
  #departures: Departure[] = []
  #lastRename: { change: RenameChange; displaced: Entry | undefined } | undefined

  get pending(): boolean {
    return this.#departures.length > 0
  }

  /** Departures that were pending before these events and still are after them have left the tree: they become deletes. */
  translate(events: readonly DirectoryEvent[], look: Look): Change[] {
    const changes: Change[] = []
    const earlier = this.#departures
    for (const event of events) this.#translate(event, look, changes)
    const late = this.#departures.filter((departure) => earlier.includes(departure))
    for (const departure of late) this.#giveUp(departure, changes)
    return changes
  }

  /** Nothing more will come for what is pending. */
  flush(): Change[] {
    const changes: Change[] = []
    for (const departure of [...this.#departures]) this.#giveUp(departure, changes)
    return changes
  }

  #translate(event: DirectoryEvent, look: Look, changes: Change[]): void {
    const { mask, name, directory } = event
    if (mask & IN_MOVED_TO) {
      this.#arrive(event, look, changes)
      return
    }
    // A name that left and is spoken of again is another's by now; only its own order of delete and create is right.
    const departed = this.#departures.find((d) => d.directory === directory && d.name === name)
    if (departed !== undefined) this.#giveUp(departed, changes)

    if (mask & IN_MOVED_FROM) this.#depart(event)
    else if (mask & IN_CREATE) this.#create(event, look, changes)
    else if (mask & IN_DELETE) this.#delete(event, changes)
    else if (mask & (IN_MODIFY | IN_CLOSE_WRITE)) this.#alter('modify', event, look, changes)
    else if (mask & IN_ATTRIB) this.#alter('attrib', event, look, changes)
  }

  #create(event: DirectoryEvent, look: Look, changes: Change[]): void {
    const { directory, name, mask } = event
    // Known already: from the listing that followed the watch, or from a poll.
    if (directory.entries.has(name)) return
    const entry = look(directory, name) ?? vanished(mask & IN_ISDIR ? 'directory' : 'file')
    if (directory.ignores(name, entry.kind)) return
    directory.entries.set(name, entry)
    append(changes, this.#change('create', event, entry))
  }

  #delete(event: DirectoryEvent, changes: Change[]): void {
    const { directory, name } = event
    const entry = directory.entries.get(name)
    if (entry === undefined) return
    directory.entries.delete(name)
    append(changes, this.#change('delete', event, entry))
  }

  #alter(type: 'modify' | 'attrib', event: DirectoryEvent, look: Look, changes: Change[]): void {
    const { directory, name, mask } = event
    const before = directory.entries.get(name)
    const now = look(directory, name)
    if (before === undefined) {
      // O_TMPFILE writes under a name that never exists; and IN_EXCL_UNLINK does not hold back what was queued before.
      if (now !== undefined) this.#create(event, look, changes)
      return
    }
    if (now !== undefined) directory.entries.set(name, now)
    if (directory.polled && now !== undefined && alteration(before, now) === undefined) return
    append(changes, { type, path: directory.pathOf(name), kind: before.kind, mask, source: 'inotify' })
  }

  #depart({ directory, name, mask, cookie }: DirectoryEvent): void {
    const entry = directory.entries.get(name)
    if (entry === undefined) return
    directory.entries.delete(name)
    this.#departures.push({ cookie, directory, name, entry, mask })
  }

  #arrive(event: DirectoryEvent, look: Look, changes: Change[]): void {
    const { directory, name, mask, cookie } = event
    const departure = this.#departures.find((pending) => pending.cookie === cookie)
    const now = look(directory, name)
    if (departure === undefined) {
      this.#arriveFromOutside(event, now, look, changes)
      return
    }
    this.#departures.splice(this.#departures.indexOf(departure), 1)
    if (directory.ignores(name, departure.entry.kind)) {
      append(changes, this.#change('delete', departure, departure.entry))
      return
    }
    const from = departure.directory.pathOf(departure.name)
    const path = directory.pathOf(name)
    const first = this.#exchangeBegunBy(from, path, now)
    if (first !== undefined) {
      first.change.replaced = false
      departure.directory.entries.set(departure.name, departure.entry)
    }
    const displaced = directory.entries.get(name)
    const entry = first?.displaced ?? departure.entry
    directory.entries.set(name, now ?? entry)
    const change: RenameChange = {
      type: 'rename',
      from,
      path,
      replaced: displaced !== undefined,
      kind: entry.kind,
      mask: mask | departure.mask,
      source: 'inotify',
    }
    append(changes, change)
    this.#lastRename = { change, displaced }
  }

  #arriveFromOutside(event: DirectoryEvent, now: Entry | undefined, look: Look, changes: Change[]): void {
    const known = event.directory.entries.get(event.name)
    if (known !== undefined && known.kind !== now?.kind) this.#delete(event, changes)
    if (known?.kind !== now?.kind || known === undefined) this.#create(event, look, changes)
    // The same inode: the listing or the poll was quicker than the event.
    else if (known.ino !== now?.ino) this.#alter('modify', event, look, changes)
  }

  // renameat2(RENAME_EXCHANGE) is told as two renames, each onto the other's name. The second brings back, to where the first
  // came from, the very inode that the first seemed to replace.
  #exchangeBegunBy(from: string, path: string, now: Entry | undefined) {
    const last = this.#lastRename
    const back = last?.change.path === from && last.change.from === path
    return back && now !== undefined && last.displaced?.ino === now.ino ? last : undefined
  }

  #giveUp(departure: Departure, changes: Change[]): void {
    this.#departures.splice(this.#departures.indexOf(departure), 1)
    append(changes, this.#change('delete', departure, departure.entry))
  }

  #change(
    type: EntryChange['type'],
    event: { directory: Directory; name: string; mask: number },
    { kind }: Entry,
  ): EntryChange {
    return { type, path: event.directory.pathOf(event.name), kind, mask: event.mask, source: 'inotify' }
  }
}
