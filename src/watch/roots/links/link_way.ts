import { basename, dirname } from 'node:path'
import type { InotifyError } from '../../../errors.ts'
import { isWithin } from '../../../mounts/mountinfo.ts'
import type { WatchedName } from '../path_watches.ts'
import {
  type Adding,
  keyOf,
  PathWatchCache,
  turnsOf,
  type WatchedWayToName,
  type Way,
  watchWays,
} from '../ways.ts'

const NOTHING: WatchedWayToName = { watched: [], paths: [], named: 0, refused: undefined }

/**
 * The way from one directory to another, which all links have in common that lie in the one and lead to the other over the same: with the watches that it
 * had at some time.
 */
export class LinkWay {
  /** Which way it is. */
  readonly key: string
  /** By which watches. */
  readonly watchedBy: string
  /** Names that it leads over, whichever of the links. */
  readonly common: readonly WatchedName[]
  /** Where those of the links are watched, and those at their ends. */
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  /** The directory where it ends, without symlinks. */
  readonly directory: string
  /** The symlinks on it, and what it leaves again; of the links themselves the directory. */
  readonly turns: readonly string[]
  /** Else polls look at it instead. */
  readonly isWatched: boolean
  /** How many links have it. */
  users = 0

  /** @param along undefined: nothing is watched */
  constructor(key: string, way: Way, along: Readonly<WatchedWayToName> | undefined) {
    const { watched, paths, refused } = along ?? NOTHING
    const own = ownLinkOf(way)
    const isStart = (path: string) => path === way.path || path === own
    const isEnd = (path: string) => path === way.realPath
    const wdsOf = (is: (path: string) => boolean) => [
      ...new Set(watched.flatMap(({ wd }, i) => (is(paths[i] as string) ? [wd] : []))),
    ]
    this.key = key
    this.isWatched = along !== undefined
    this.starts = wdsOf(isStart)
    this.ends = wdsOf(isEnd)
    this.common = watched.filter((_, i) => !isStart(paths[i] as string) && !isEnd(paths[i] as string))
    this.watchedBy = `${keyOf(this.common)} ${this.starts} ${this.ends}${refused === undefined ? '' : ' ...'}`
    this.directory = dirname(way.realPath)
    this.turns = turnsOf(way).map((turn) => (turn === own ? dirname(own) : turn))
  }

  /** The names that a link is concerned by alone. */
  namesOf(name: string, end: string): WatchedName[] {
    return [...this.starts.map((wd) => ({ wd, name })), ...this.ends.map((wd) => ({ wd, name: end }))]
  }
}

/** A way as it was found and watched now. */
export interface FoundWay {
  readonly way: LinkWay
  readonly refused: InotifyError | undefined
  /** It had these watches before anybody asked where the link leads: of what changes from then on there are events. */
  readonly isSettled: boolean
}

/** The ways of links, each once. */
export class LinkWays {
  readonly #latest = new Map<string, LinkWay>()

  /**
   * To watch ways that were followed just now: each of them once, and each directory.
   *
   * @param inotify undefined: nothing is watched
   */
  watchingWith(inotify: Adding): (way: Way) => FoundWay {
    const ways = new PathWatchCache(inotify)
    const found = new Map<string, FoundWay>()
    return (way) => {
      const key = keyOfRoute(way)
      const known = found.get(key) ?? this.#found(key, way, watchWays(way, true, ways))
      found.set(key, known)
      return known
    }
  }

  /** One that polls look at. */
  unwatched(way: Way): LinkWay {
    return this.#found(`unwatched\0${keyOfRoute(way)}`, way, undefined).way
  }

  /** Tells if no link had this way before. */
  join(way: LinkWay): boolean {
    return way.users++ === 0
  }

  /** Whether nobody has it any more. */
  leave(way: LinkWay): boolean {
    if (--way.users > 0) return false
    if (this.#latest.get(way.key) === way) this.#latest.delete(way.key)
    return true
  }

  #found(key: string, way: Way, along: WatchedWayToName | undefined): FoundWay {
    const latest = this.#latest.get(key)
    const now = new LinkWay(key, way, along)
    const isSettled = latest?.watchedBy === now.watchedBy
    if (!isSettled) this.#latest.set(key, now)
    return { way: isSettled ? latest : now, refused: along?.refused, isSettled }
  }
}

/** The link itself, by its real path: the first of its name, of which there may be others on the way to it. */
function ownLinkOf({ path, links }: Way): string | undefined {
  const name = basename(path)
  return links.find((link) => basename(link.path) === name)?.path
}

/**
 * What is the same for all links that have a way in common: all but their own names and those at their ends. Where one of the places on it lies in another, as can
 * be seen while links change, their names decide more than that.
 */
function keyOfRoute(way: Way): string {
  const { path, realPath } = way
  const own = ownLinkOf(way)
  const turns = turnsOf(way)
  const places = [realPath, ...turns]
  const isPlain =
    own !== undefined &&
    places.every((place, i) => places.every((other, j) => i === j || !isWithin(place, other))) &&
    places.every((place) => place === path || (!isWithin(place, path) && !isWithin(path, place)))
  if (!isPlain) return [path, ...places].join('\0')
  const others = turns.map((turn) => (turn === own ? `${dirname(own)}/` : turn))
  return [`${dirname(path)}/`, `${dirname(realPath)}/`, ...others].join('\0')
}
