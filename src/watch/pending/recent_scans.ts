import type { Entry } from '../scan/entry.ts'
import type { Directory, WatchedMount } from '../tree/directory.ts'
import { ByName } from './by_name.ts'

/**
 * Directories that were listed lately. An event of such a one may be older than its listing, and about something else of that name.
 */
export class RecentScans {
  // With the names in them of which an event has told since, and the inode number of what the listing had shown there, if that was told as gone or another has
  // taken its place. Of the others, the event that put them there may still come.
  readonly #listed = new Map<Directory | WatchedMount, ByName<number>>()
  // What has been exchanged since the last listing: what was told of it went with it, and exchanged back it is as it was told.
  #exchanged = new WeakSet<Entry>()

  get isEmpty(): boolean {
    return this.#listed.size === 0
  }

  /** A listing of a directory, or of everything in a mount, has shown what events may still tell. */
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

  /** Every event that was queued before those listings that there have been when it is called has been told when the answer is. */
  hold(): () => void {
    const held = [...this.#listed]
    return () => {
      for (const [each, spoken] of held) if (this.#listed.get(each) === spoken) this.#listed.delete(each)
    }
  }

  /** Whether an event of this directory may be older than what is believed of it. */
  isAheadOf(directory: Directory): boolean {
    return this.#listed.size > 0 && this.#spokenIn(directory) !== undefined
  }

  /** A listing has shown this name, and no event has spoken of it since. */
  hasShown(directory: Directory, name: string): boolean {
    const spoken = this.#spokenIn(directory)
    return spoken !== undefined && spoken.get(directory, name) === undefined
  }

  /** Whether a listing had shown this file at a name, before events spoke of the name that may be older, and it is not back there by those events. */
  hadShown(directory: Directory, name: string, entry: Entry): boolean {
    if (entry.ino === 0 || this.#exchanged.has(entry)) return false
    return this.#spokenIn(directory)?.get(directory, name) === entry.ino
  }

  /**
   * An event has told of a name, in a directory that was listed lately or not.
   *
   * @param shown what was believed to be there until then, if it is told as gone or another takes its place
   */
  noteEvent(directory: Directory, name: string, shown?: Entry): void {
    if (this.isEmpty) return
    const spoken = this.#spokenIn(directory)
    // Most events leave what was shown where it is, or take it along.
    if (!spoken?.get(directory, name)) spoken?.set(directory, name, shown?.ino ?? 0)
  }

  /** It has changed places with another, by events that may be older than a listing. */
  noteExchanged(entry: Entry): void {
    this.#exchanged.add(entry)
  }

  #spokenIn(directory: Directory): ByName<number> | undefined {
    return this.#listed.get(directory) ?? this.#listed.get(directory.mount)
  }
}
