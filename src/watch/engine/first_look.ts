import type { Rescan } from '../diff/rescan.ts'
import type { InotifySource } from '../events/inotify_source.ts'
import type { Watching } from '../inotify_instance.ts'
import type { Settings } from '../options.ts'
import type { SeenNow, WatchSystem } from '../system.ts'

export interface FirstLookParts {
  system: Pick<WatchSystem, 'lookNow' | 'clock'>
  settings: Pick<Settings, 'backend' | 'since' | 'followRoots'>
  inotify: Pick<InotifySource, 'open' | 'watching'>
  rescan: Pick<Rescan, 'lookAhead' | 'forgetAhead'>
}

/**
 * What there was at the roots within the call that asked for them: what happens after that call is told, though it has happened before anybody had a turn to look. Directories are
 * walked through, and watched; of the rest it is known what it was. It attaches nothing.
 */
export class FirstLook {
  readonly #parts: FirstLookParts
  readonly #seen = new Map<string, SeenNow>()

  constructor(parts: FirstLookParts) {
    this.#parts = parts
  }

  /**
   * Looks at these in their order, for so many ms at the most. What is not reached, or is not told of by inotify alone, is looked at in its turn.
   *
   * @returns the directories that are watched by now, as far as the time has reached; and the first error of those that cannot be
   */
  look(paths: readonly string[], patience: number): { directories: string[]; failure: unknown } {
    const { system, settings, inotify, rescan } = this.#parts
    const directories: string[] = []
    let failure: unknown
    // What differs from what was saved is told anyway.
    if (settings.backend === 'poll' || settings.since !== undefined) return { directories, failure }
    const until = system.clock.elapsed() + patience
    const see = system.lookNow(settings.followRoots)
    for (const path of new Set(paths)) {
      const rest = until - system.clock.elapsed()
      if (rest <= 0) break
      const seen = see(path)
      if (seen === undefined) continue
      if (seen === 'directory') {
        try {
          inotify.open()
          rescan.lookAhead(path, inotify.watching as Watching, rest)
        } catch (error) {
          failure ??= error
          continue
        }
        directories.push(path)
      }
      this.#seen.set(path, seen)
    }
    return { directories, failure }
  }

  /** What was at a path; undefined: it was not looked at. */
  at(path: string): SeenNow | undefined {
    return this.#seen.get(path)
  }

  /** The walks that nobody has taken in are out of date. */
  forgetWalks(): void {
    this.#parts.rescan.forgetAhead()
  }

  /** All is. */
  forget(): void {
    this.#seen.clear()
  }
}
