import type { Entry } from '../scan/entry.ts'
import { ByName } from '../tree/by_name.ts'
import type { Directory, WatchedMount } from '../tree/directory.ts'

/** Directories that were listed lately. An event of such a directory may be older than its listing, and about another entry of that name. */
export class RecentScans {
  // By directory: the names that events were about since, with the inode number that the listing had shown there, if
  // that entry was reported as gone or another has taken its place; else 0. For all other names, the event that put
  // the entry there may still come.
  readonly #listed = new Map<Directory | WatchedMount, ByName<Directory, number>>()
  // The entries exchanged since the last listing: their reports went with them, and still hold if exchanged back.
  #exchanged = new WeakSet<Entry>()

  get isEmpty(): boolean {
    return this.#listed.size === 0
  }

  /** Notes that a listing of a directory, or of a whole mount, has shown what events may still report. */
  add(listed: Directory | WatchedMount): void {
    this.#listed.set(listed, new ByName())
    this.#exchanged = new WeakSet()
  }

  get all(): Iterable<Directory | WatchedMount> {
    return this.#listed.keys()
  }

  has(listed: Directory | WatchedMount): boolean {
    return this.#listed.has(listed)
  }

  /** Takes the present listings. Returns what to call when every event that was queued before them has been translated. */
  hold(): () => void {
    const held = [...this.#listed]
    return () => {
      for (const [each, spoken] of held) if (this.#listed.get(each) === spoken) this.#listed.delete(each)
    }
  }

  /** Returns true if an event of this directory may be older than what is known of it. */
  isAheadOf(directory: Directory): boolean {
    return this.#listed.size > 0 && this.#spokenIn(directory) !== undefined
  }

  /** Returns true if a listing has shown this name, and no event was about the name since. */
  hasShown(directory: Directory, name: string): boolean {
    const spoken = this.#spokenIn(directory)
    return spoken !== undefined && spoken.at(directory, name) === undefined
  }

  /** Returns true if a listing had shown this file at a name, events that may be older were about the name since, and no exchange has put it back there. */
  hadShown(directory: Directory, name: string, entry: Entry): boolean {
    if (entry.ino === 0 || this.#exchanged.has(entry)) return false
    return this.#spokenIn(directory)?.at(directory, name) === entry.ino
  }

  /**
   * Notes an event about a name, in a directory that was listed lately or not.
   *
   * @param shown the entry known there until then, if it is reported as gone or another takes its place
   */
  noteEvent(directory: Directory, name: string, shown?: Entry): void {
    if (this.isEmpty) return
    const spoken = this.#spokenIn(directory)
    // Most events leave the shown entry where it is, or take it along.
    if (!spoken?.at(directory, name)) spoken?.put(directory, name, shown?.ino ?? 0)
  }

  /** Notes an entry that has changed places with another, by events that may be older than a listing. */
  noteExchanged(entry: Entry): void {
    this.#exchanged.add(entry)
  }

  #spokenIn(directory: Directory): ByName<Directory, number> | undefined {
    return this.#listed.get(directory) ?? this.#listed.get(directory.mount)
  }
}
