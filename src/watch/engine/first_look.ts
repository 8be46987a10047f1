import type { Rescan } from '../diff/rescan.ts'
import type { InotifySource } from '../events/inotify_source.ts'
import type { WatchRelease } from '../events/watch_release.ts'
import type { Watching } from '../inotify_instance.ts'
import type { Settings } from '../options.ts'
import type { Kind } from '../report/change.ts'
import type { SeenBefore } from '../roots/root.ts'
import { watchFile } from '../roots/ways.ts'
import { Patience } from '../scan/patience.ts'
import type { WatchSystem } from '../system.ts'

export interface FirstLookParts {
  system: Pick<WatchSystem, 'lookNow' | 'clock'>
  settings: Pick<Settings, 'backend' | 'since' | 'followRoots'>
  inotify: Pick<InotifySource, 'open' | 'watching' | 'hold'>
  rescan: Pick<Rescan, 'lookAhead' | 'forgetAhead'>
  watches: Pick<WatchRelease, 'hold' | 'letGo' | 'retire'>
}

/** What was at a path. */
export type SeenThen = 'missing' | 'directory' | SeenBefore

/** So many of the roots that are no directories are looked at within the call: of thousands it would be half of the time that all of them take to be watched. */
const MOST_FILES = 256

const isNoFile = (kind: Kind | 'missing') => kind === 'missing' || kind === 'directory'

/**
 * What there was at the roots within the call that asked for them: what happens after that call is told, though it has happened before anybody had a turn to look. Directories are
 * walked through, and watched; so are files. It attaches nothing: no event is told until that is done.
 */
export class FirstLook {
  readonly #parts: FirstLookParts
  readonly #seen = new Map<string, SeenThen>()
  #release = () => {}

  constructor(parts: FirstLookParts) {
    this.#parts = parts
  }

  /**
   * Looks at these in their order, for so many ms, or ten times as long while it is no more than a thousand directories. What is not reached, or is not told of by inotify alone, is
   * looked at in its turn.
   *
   * @returns the first error of the directories that cannot be opened, read or watched
   */
  look(paths: readonly string[], ms: number): unknown {
    const { system, settings, inotify, watches } = this.#parts
    // What differs from what was saved is told anyway.
    if (settings.backend === 'poll' || settings.since !== undefined) return undefined
    const patience = new Patience(system.clock, ms)
    const see = system.lookNow(settings.followRoots)
    this.#release = inotify.hold()
    watches.hold()
    let failure: unknown
    let directories = 0
    for (const path of new Set(paths)) {
      if (patience.rest() <= 0 || this.#seen.size - directories >= MOST_FILES) break
      const kind = see(path)
      const seen = kind === undefined || isNoFile(kind) ? kind : this.#watchFile(path, kind)
      if (seen === undefined) continue
      this.#seen.set(path, seen)
      if (seen !== 'directory') continue
      directories++
      try {
        inotify.open()
        const isOver = this.#parts.rescan.lookAhead(path, inotify.watching as Watching, patience)
        // There is one walk at a time.
        if (!isOver) break
      } catch (error) {
        failure ??= error
        this.#seen.delete(path)
      }
    }
    return failure
  }

  /** What was at a path; undefined: it was not looked at. */
  at(path: string): SeenThen | undefined {
    return this.#seen.get(path)
  }

  /** The directories that were looked at. */
  get directories(): string[] {
    return [...this.#seen].flatMap(([path, seen]) => (seen === 'directory' ? [path] : []))
  }

  /** All is attached that was looked at, or will not be: the rest is out of date, and events are told from now on. */
  async end(): Promise<void> {
    const { rescan, watches } = this.#parts
    this.#seen.clear()
    try {
      await rescan.forgetAhead()
    } finally {
      watches.letGo()
      // Whatever happens: nothing would ever be told.
      this.#release()
    }
  }

  /** A file: it has its watch from now on, since by its stat nobody could tell that it was written within a tick of the clock. undefined: it has none. */
  #watchFile(path: string, kind: Kind): SeenBefore | undefined {
    const { inotify, settings, watches } = this.#parts
    try {
      inotify.open()
      const wd = watchFile(path, (inotify.watching as Watching).inotify, settings.followRoots)
      if (typeof wd !== 'number') return undefined
      // Removed at the end, unless a root has this watch by then.
      watches.retire([wd])
      return { kind, wd }
    } catch {
      // For want of an instance. Who attaches it says so, or polls it.
      return undefined
    }
  }
}
