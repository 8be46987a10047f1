import { addHint, type Hint, type Hints, type PathWatches } from '../path_watches.ts'
import type { WatchedWay, Way } from '../ways.ts'
import { FollowedLink, LinkHops } from './followed_link.ts'

/** By which names, and by which watch of its own, a link is watched. */
type LinkNames = Pick<FollowedLink, 'watchedAs' | 'end' | 'own'>

const NO_NAMES: LinkNames = { watchedAs: '', end: '', own: 0 }

/** Enters links in the index of watches: each by its own names and watch, and the hops that links share once. */
export class LinkIndex {
  readonly #watches: PathWatches
  readonly #hops = new Map<string, LinkHops>()

  constructor(watches: PathWatches) {
    this.#watches = watches
  }

  /** Returns the hops of a way: those that links have, if their watches are the same. */
  hopsOf(way: Way, along?: WatchedWay): LinkHops {
    const hops = new LinkHops(way, along)
    return this.#hops.get(hops.key) ?? hops
  }

  /** Gives a link what it is watched by, in place of what it had. Returns the watches that may be nobody's any more. */
  set(link: FollowedLink, hops: LinkHops | undefined, names = NO_NAMES): number[] {
    const { hops: before } = link
    const had = before?.namesOf(link) ?? []
    Object.assign(link, { hops, ...names })
    const left = this.#watches.replace(link, had, hops?.namesOf(link) ?? [])
    if (hops === before) return left
    if (hops?.links.size === 0) {
      this.#hops.set(hops.key, hops)
      this.#watches.replace(hops, [], hops.shared)
    }
    hops?.links.add(link)
    before?.links.delete(link)
    if (before?.links.size === 0) {
      this.#hops.delete(before.key)
      left.push(...this.#watches.replace(before, before.shared, []))
    }
    return left
  }
}

/** Picks the hints for links. A hint for shared hops goes to each link that has them. */
export function hintsForLinks(hints: Hints): ReadonlyMap<FollowedLink, Hint> {
  const found = new Map<FollowedLink, Hint>()
  for (const [owner, { all, own }] of hints) {
    if (owner instanceof FollowedLink) addHint(found, owner, all, own)
    else if (owner instanceof LinkHops) for (const link of owner.links) addHint(found, link, all, 0)
  }
  return found
}
