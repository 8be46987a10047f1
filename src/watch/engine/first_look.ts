import type { Kind } from '../report/change.ts'
import type { SeenBefore } from '../roots/root.ts'
import { watchFile } from '../roots/ways.ts'
import { Patience } from '../scan/patience.ts'
import type { EngineContext } from './context.ts'

/** The state of a path at the time. */
type SeenThen = 'missing' | 'directory' | SeenBefore

/** The most non-directory roots looked at within the call: thousands would take half of the time that watching all of them takes. */
const MOST_FILES = 256

const isNoFile = (kind: Kind | 'missing') => kind === 'missing' || kind === 'directory'

/**
 * Looks at the roots within the call that asks for them. So changes after that call are told, though made before anybody had a turn
 * to look. Directories are walked through, and watched; so are files. It attaches nothing: no event is told until roots are attached.
 */
export class FirstLook {
  readonly #context: EngineContext
  /** The state of each path that was looked at. */
  readonly seen = new Map<string, SeenThen>()

  constructor(context: EngineContext) {
    this.#context = context
  }

  /**
   * Looks at these in their order, for `ms`, or for ten times as long up to a thousand directories. Paths that are not reached, or that inotify alone does not
   * tell of, are looked at in their turn.
   *
   * @returns the first error of the directories that cannot be opened, read or watched
   */
  look(paths: readonly string[], ms: number): unknown {
    const { system, settings, inotify } = this.#context
    // With `since`, differences from what was saved are told anyway.
    if (settings.backend === 'poll' || settings.since !== undefined) return undefined
    const patience = new Patience(system.clock, ms)
    const see = system.lookNow()
    inotify.hold()
    let failure: unknown
    let directories = 0
    for (const path of new Set(paths)) {
      if (patience.rest() <= 0 || this.seen.size - directories >= MOST_FILES) break
      const kind = see(path, settings.followRoots)
      if (kind !== undefined && kind !== 'missing') this.#context.makers?.cover(path)
      const seen = kind === undefined || isNoFile(kind) ? kind : this.#watchFile(path, kind)
      if (seen === undefined) continue
      this.seen.set(path, seen)
      if (seen !== 'directory') continue
      directories++
      try {
        const isOver = this.#context.rescan.scanner.scanAhead(path, inotify.open(), patience)
        // The walker does one walk at a time.
        if (!isOver) break
      } catch (error) {
        failure ??= error
        this.seen.delete(path)
      }
    }
    return failure
  }

  /** The directories that were looked at. */
  get directories(): string[] {
    return [...this.seen].flatMap(([path, seen]) => (seen === 'directory' ? [path] : []))
  }

  /** Ends the first look: all is attached, or will not be. Findings left over are out of date, and events are told from now on. */
  async end(): Promise<void> {
    const { rescan, inotify } = this.#context
    this.seen.clear()
    try {
      await rescan.forgetAhead()
    } finally {
      // Whatever happens: else no event would ever be told.
      inotify.release()
    }
  }

  /** Watches a file from now on: its stat could not tell that it was written within a tick of the clock. undefined: it has no watch. */
  #watchFile(path: string, kind: Kind): SeenBefore | undefined {
    const { inotify, settings } = this.#context
    try {
      const wd = watchFile(path, inotify.open(), settings.followRoots)
      if (typeof wd !== 'number') return undefined
      // Removed at the end, unless a root has this watch by then.
      inotify.retire([wd])
      return { kind, wd }
    } catch {
      // No instance is left. The attacher says so, or has the file polled.
      return undefined
    }
  }
}
