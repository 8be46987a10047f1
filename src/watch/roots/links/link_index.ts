import {
  addHint,
  type Hint,
  type Hints,
  ITSELF,
  type PathWatches,
  type WatchedName,
} from '../path_watches.ts'
import { FollowedLink } from './followed_link.ts'
import { LinkWay, LinkWays } from './link_way.ts'

/** By what a link is watched. */
export interface LinkSeat {
  readonly way: LinkWay
  readonly name: string
  readonly end: string
  readonly own: number
}

/** Enters links in the index of watches: each by its own names and watch, and each way that links have in common once. */
export class LinkIndex {
  readonly ways = new LinkWays()
  readonly #watches: PathWatches

  constructor(watches: PathWatches) {
    this.#watches = watches
  }

  /** Gives a link what it is watched by, in place of what it had. The answer: watches that may be nobody's any more. */
  set(link: FollowedLink, seat: LinkSeat | undefined): number[] {
    const { way, watchedAs, end, own } = link
    const [name, endNow, ownNow] = [seat?.name ?? '', seat?.end ?? '', seat?.own ?? 0]
    if (way === seat?.way && watchedAs === name && end === endNow && own === ownNow) return []
    const before = namesOf(way, watchedAs, end, own)
    const left = this.#watches.replace(link, before, namesOf(seat?.way, name, endNow, ownNow))
    if (way !== seat?.way) {
      if (seat !== undefined && this.ways.join(seat.way)) this.#watches.replace(seat.way, [], seat.way.common)
      if (way !== undefined && this.ways.leave(way)) left.push(...this.#watches.replace(way, way.common, []))
    }
    link.way = seat?.way
    link.watchedAs = name
    link.end = endNow
    link.own = ownNow
    return left
  }
}

/** Picks the hints for links. A hint for a shared way goes to each of `links` that has the way. */
export function hintsForLinks(hints: Hints, links: Iterable<FollowedLink>): ReadonlyMap<FollowedLink, Hint> {
  const found = new Map<FollowedLink, Hint>()
  let isAnyWay = false
  for (const [owner, hint] of hints) {
    if (owner instanceof FollowedLink) found.set(owner, hint)
    else if (owner instanceof LinkWay) isAnyWay = true
  }
  for (const link of isAnyWay ? links : []) {
    const told = link.way && hints.get(link.way)
    if (told !== undefined) addHint(found, link, told.all, 0)
  }
  return found
}

function namesOf(way: LinkWay | undefined, name: string, end: string, own: number): WatchedName[] {
  const names = way?.namesOf(name, end) ?? []
  if (own > 0) names.push({ wd: own, name: ITSELF })
  return names
}
