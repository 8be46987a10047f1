import type { Directory, WatchedMount } from '../tree/directory.ts'

/**
 * Directories that were listed lately. An event of such a one may be older than its listing, and about something else of that name.
 */
export class RecentScans {
  // With the names in them of which an event has told since. Of the others, the event that put them there may still come.
  readonly #listed = new Map<Directory | WatchedMount, Map<Directory, Set<string>>>()
  // Those that were since the last {@link hold}.
  readonly #relisted = new Set<Directory | WatchedMount>()

  get isEmpty(): boolean {
    return this.#listed.size === 0
  }

  /** A listing of a directory, or of everything in a mount, has shown what events may still tell. */
  add(listed: Directory | WatchedMount): void {
    this.#listed.set(listed, new Map())
    this.#relisted.add(listed)
  }

  get all(): Iterable<Directory | WatchedMount> {
    return this.#listed.keys()
  }

  has(listed: Directory | WatchedMount): boolean {
    return this.#listed.has(listed)
  }

  /** Every event that was queued before those listings that there have been when it is called has been told when the answer is. */
  hold(): () => void {
    const held = [...this.#listed.keys()]
    this.#relisted.clear()
    return () => {
      for (const each of held) if (!this.#relisted.has(each)) this.#listed.delete(each)
    }
  }

  /** Whether an event of this directory may be older than what is believed of it. */
  isAheadOf(directory: Directory): boolean {
    return this.#listed.size > 0 && this.#spokenIn(directory) !== undefined
  }

  /** A listing has shown this name, and no event has spoken of it since. */
  hasShown(directory: Directory, name: string): boolean {
    const spoken = this.#spokenIn(directory)
    return spoken !== undefined && !spoken.get(directory)?.has(name)
  }

  noteEvent(directory: Directory, name: string): void {
    const spoken = this.#spokenIn(directory)
    const names = spoken?.get(directory)
    if (names === undefined) spoken?.set(directory, new Set([name]))
    else names.add(name)
  }

  #spokenIn(directory: Directory): Map<Directory, Set<string>> | undefined {
    return this.#listed.get(directory) ?? this.#listed.get(directory.mount)
  }
}
