import { InotifyError } from '../../errors.ts'
import { isSamePlace, type Place, type SeenFile, wayTo } from './file_survey.ts'
import {
  type Adding,
  keyOf,
  renamed,
  type WatchedWay,
  type WatchedWayToName,
  watchFile,
  watchWays,
} from './ways.ts'

/** Watches the ways to files, of which thousands have all but the last name in common, and each directory but once. */
export class SharedWays implements Adding {
  readonly #inotify: Adding
  readonly #added = new Map<string, number | InotifyError>()
  readonly #watched = new Map<Place, { name: string; way: WatchedWayToName }>()

  constructor(inotify: Adding) {
    this.#inotify = inotify
  }

  watch(seen: SeenFile): WatchedWay {
    const { place, name } = seen
    const known = this.#watched.get(place)
    if (known !== undefined) return known.name === name ? known.way : renamed(known.way, name)
    const way = watchWays(wayTo(seen), true, this)
    this.#watched.set(place, { name, way })
    return way
  }

  add(path: string | Buffer, mask: number): number {
    const key = `${mask} ${typeof path === 'string' ? path : path.toString('latin1')}`
    const added = this.#added.get(key) ?? this.#tryToAdd(path, mask)
    this.#added.set(key, added)
    if (typeof added === 'number') return added
    throw added
  }

  #tryToAdd(path: string | Buffer, mask: number): number | InotifyError {
    try {
      return this.#inotify.add(path, mask)
    } catch (error) {
      if (error instanceof InotifyError) return error
      throw error
    }
  }
}

/** A file that was seen, the watches of its way, and its own. */
export interface SeenAndWatched {
  readonly seen: SeenFile
  readonly along: WatchedWay
  readonly own: number
}

/** Places that are found to be the same when they are watched once more. What is so of one file is so of all that were seen and watched with it. */
export class SettledPlaces {
  readonly #ways: SharedWays
  readonly #inotify: Adding
  readonly #follows: boolean
  readonly #found = new Map<Place, { now: Place; isSettled: boolean; isRefused: boolean }>()

  /** @param follows see {@link watchFile} */
  constructor(ways: SharedWays, inotify: Adding, follows: boolean) {
    this.#follows = follows
    this.#ways = ways
    this.#inotify = inotify
  }

  has({ seen: before, along, own }: SeenAndWatched, seen: SeenFile): boolean {
    let found = this.#found.get(before.place)
    if (found?.now !== seen.place) {
      const { watched, refused } = this.#ways.watch(seen)
      const isSettled = isSamePlace(before.place, seen.place) && keyOf(watched) === keyOf(along.watched)
      found = { now: seen.place, isSettled, isRefused: refused !== undefined }
      this.#found.set(before.place, found)
    }
    if (!found.isSettled || before.name !== seen.name) return false
    // By the watch of the directory that it lies in another file in its place is told. Where that is refused, nothing tells but the watch of the file.
    return !found.isRefused || watchFile(seen.path, this.#inotify, this.#follows) === own
  }
}
