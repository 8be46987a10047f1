import { dirname } from 'node:path'
import { InotifyError } from '../../errors.ts'
import type { InotifySource } from '../events/inotify_source.ts'
import { isAbsence } from '../report/watch_error.ts'
import type { RootsContext } from './context.ts'
import type { PathWatches } from './path_watches.ts'
import type { Root } from './root.ts'
import { type Adding, PathWatchCache, turnsOf, type Way, watchWays } from './ways.ts'

interface WatchedWhole {
  /** undefined: not all of it is watched. */
  way: Way | undefined
  /** True: the way was found to be the same when it was watched. */
  isSettled: boolean
}

const UNWATCHED: WatchedWhole = { way: undefined, isSettled: true }

/**
 * Roots at whose path there is nothing. For each, watches the nearest directory above that is there,
 * for the missing name, and each symlink on the way: then nobody need look for the root now and then.
 */
export class AwaitedRoots {
  readonly #context: RootsContext

  constructor(context: RootsContext) {
    this.#context = context
  }

  /**
   * Watches the way of a root. Events tell from now on when something comes, but for mounts: then the root
   * `isAwaited`. Returns true if something may have come before the watches were there, which nobody tells.
   */
  async watch(root: Root): Promise<boolean> {
    const inotify = this.#open()
    const { way, isSettled } = inotify === undefined ? UNWATCHED : await this.#watchWay(root, inotify)
    root.isAwaited = isSettled && way !== undefined && (await this.#isTold(way))
    if (!root.isAwaited) this.#leave(root)
    return root.isAwaited || !isSettled
  }

  /** Gives the root back to the polls, which have to look for it after all. */
  forget(root: Root): void {
    root.isAwaited = false
    this.#leave(root)
  }

  /** Removes the watches, but for those of a lost file: their events are hints that the file may be back. */
  #leave(root: Root): void {
    if (root.file === undefined) this.#watched(root, [])
  }

  async #watchWay(root: Root, inotify: Adding): Promise<WatchedWhole> {
    let seen: Way | undefined
    const isSettled = await this.#context.paths.follow(root.path, (way) => {
      const { watched, refused } = watchWays(way, true, new PathWatchCache(inotify))
      this.#watched(root, watched)
      seen = refused === undefined ? way : undefined
      return watched
    })
    return { way: seen, isSettled }
  }

  #watched(root: Root, watched: Parameters<PathWatches['set']>[1]): void {
    const { pathWatches, watches } = this.#context
    watches.retire(pathWatches.set(root, watched))
  }

  #open(): InotifySource['instance'] {
    const { inotify, settings } = this.#context
    if (settings.backend === 'poll') return undefined
    try {
      inotify.open()
    } catch (error) {
      if (error instanceof InotifyError) return undefined
      throw error
    }
    return inotify.instance
  }

  /** Returns true if each mount on the way delivers all that happens there, whoever does it. The source that was asked for does not matter here. */
  async #isTold(way: Way): Promise<boolean> {
    const places = [way.realPath, ...turnsOf(way).map((turn) => dirname(turn))]
    const told = await Promise.all(places.map((place) => this.#tells(place)))
    return !told.includes(false)
  }

  async #tells(path: string): Promise<boolean> {
    try {
      const { backend } = await this.#context.system.choose(path)
      return backend === 'inotify'
    } catch (error) {
      // A missing name comes where its directory is.
      return isAbsence(error) && path !== '/' && (await this.#tells(dirname(path)))
    }
  }
}
