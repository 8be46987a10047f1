import type { EventBatch } from '../../../inotify/batch.ts'
import { IN_IGNORED } from '../../../inotify/constants.ts'
import { keyAt } from '../../../name_key.ts'
import { ABOUT_NAME, GONE } from '../../events/watch_mask.ts'
import { addHint, type Hint, ITSELF, NameOwners } from '../path_watches.ts'
import type { FollowedLink } from './followed_link.ts'
import { type LinkWay, LinkWays } from './link_way.ts'

// Of ways, the events that count; of a link's own watch all do.
const MASK = ABOUT_NAME | GONE

const NONE: ReadonlyMap<FollowedLink, Hint> = new Map()

/** By what a link is watched. */
export interface LinkSeat {
  readonly way: LinkWay
  readonly name: string
  readonly end: string
  readonly own: number
}

/**
 * Which links an event concerns: by the names of the links and those at their ends, by the watches of the files there, and by what their ways have in common. It
 * is what PathWatches is for roots, of which there are not so many.
 */
export class LinkIndex {
  readonly ways = new LinkWays()
  readonly #names = new NameOwners<FollowedLink>()
  readonly #common = new NameOwners<LinkWay>()
  readonly #own = new Map<number, FollowedLink | Set<FollowedLink>>()

  has(wd: number): boolean {
    return this.#names.has(wd) || this.#common.has(wd) || this.#own.has(wd)
  }

  /** Gives a link what it is watched by, in place of what it had. The answer: watches that may be nobody's any more. */
  set(link: FollowedLink, seat: LinkSeat | undefined): number[] {
    const { way, watchedAs, end, own } = link
    const isAlike = way === seat?.way && watchedAs === seat?.name && end === seat?.end
    if (isAlike && own === (seat?.own ?? 0)) return []
    const left: number[] = []
    if (own !== (seat?.own ?? 0)) {
      if (seat !== undefined && seat.own > 0) this.#join(seat.own, link)
      if (own > 0) left.push(...this.#leave(own, link))
      link.own = seat?.own ?? 0
    }
    if (isAlike) return left
    const names = seat?.way.namesOf(seat.name, seat.end) ?? []
    for (const each of names) this.#names.join(link, each)
    if (seat !== undefined && seat.way !== way) this.#joinWay(seat.way)
    for (const each of way?.namesOf(watchedAs, end) ?? []) {
      if (names.some(({ wd, name }) => wd === each.wd && name === each.name)) continue
      if (this.#names.leave(link, each)) left.push(each.wd)
    }
    if (way !== undefined && way !== seat?.way) left.push(...this.#leaveWay(way))
    link.way = seat?.way
    link.watchedAs = seat?.name ?? ''
    link.end = seat?.end ?? ''
    return left
  }

  /** What a part of a batch has for each link that it concerns: of these. */
  collect(
    batch: EventBatch,
    start: number,
    end: number,
    links: Iterable<FollowedLink>,
  ): ReadonlyMap<FollowedLink, Hint> {
    if (this.#names.isEmpty && this.#common.isEmpty && this.#own.size === 0) return NONE
    const hints = new Map<FollowedLink, Hint>()
    const ways = new Map<LinkWay, number>()
    for (let i = start; i < end; i++) {
      const wd = batch.wd(i)
      if (!this.has(wd)) continue
      const told = batch.mask(i)
      const name = keyAt(batch, i)
      if (name === ITSELF) for (const link of ownersIn(this.#own.get(wd))) addHint(hints, link, told, told)
      if (told & MASK) {
        for (const each of name === ITSELF ? this.#names.namesIn(wd) : [name])
          for (const link of this.#names.of(wd, each)) addHint(hints, link, told, 0)
        for (const each of name === ITSELF ? this.#common.namesIn(wd) : [name])
          for (const way of this.#common.of(wd, each)) ways.set(way, (ways.get(way) ?? 0) | told)
      }
      if (told & IN_IGNORED) this.#drop(wd)
    }
    if (ways.size === 0) return hints
    for (const link of links) {
      const told = link.way && ways.get(link.way)
      if (told !== undefined) addHint(hints, link, told, 0)
    }
    return hints
  }

  /** The kernel has removed the watch. */
  #drop(wd: number): void {
    this.#names.drop(wd)
    this.#common.drop(wd)
    this.#own.delete(wd)
  }

  #joinWay(way: LinkWay): void {
    if (way.users === 0) for (const each of way.common) this.#common.join(way, each)
    this.ways.join(way)
  }

  #leaveWay(way: LinkWay): number[] {
    if (!this.ways.leave(way)) return []
    return way.common.filter((each) => this.#common.leave(way, each)).map(({ wd }) => wd)
  }

  #join(wd: number, link: FollowedLink): void {
    const links = this.#own.get(wd)
    if (links === undefined) this.#own.set(wd, link)
    else if (links instanceof Set) links.add(link)
    else this.#own.set(wd, new Set([links, link]))
  }

  #leave(wd: number, link: FollowedLink): number[] {
    const links = this.#own.get(wd)
    if (links instanceof Set) links.delete(link)
    const isLast = links === link || (links instanceof Set && links.size === 0)
    if (!isLast) return []
    this.#own.delete(wd)
    return [wd]
  }
}

function ownersIn(links: FollowedLink | Set<FollowedLink> | undefined): Iterable<FollowedLink> {
  if (links === undefined) return []
  return links instanceof Set ? links : [links]
}
