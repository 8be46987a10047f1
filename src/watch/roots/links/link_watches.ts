import { basename } from 'node:path'
import type { InotifyError } from '../../../errors.ts'
import { Directory } from '../../tree/directory.ts'
import type { RootsContext } from '../context.ts'
import { areSilent } from '../silent_ways.ts'
import { isOutOfWatches, PathWatchCache, type Way, watchFile, watchWays, waysOf } from '../ways.ts'
import { believedAt, type FollowedLink, type LinkHops } from './followed_link.ts'
import { LinkIndex } from './link_index.ts'

/** The watches on the hops of links, and the links that have to be polled since these do not tell of all. It does not look at what is at their ends. */
export class LinkWatches {
  readonly #context: RootsContext
  /** The watches by which a link may lead elsewhere: see ways.ts. */
  readonly #linkIndex: LinkIndex
  /** The links of which a change may have no event. */
  readonly polled = new Set<FollowedLink>()
  /** The links whose hops are not watched, or not all of them, and why. */
  readonly refused = new Map<FollowedLink, InotifyError>()
  // The number of these that have found no watch.
  #outOfWatches = 0

  constructor(context: RootsContext) {
    this.#context = context
    this.#linkIndex = new LinkIndex(context.pathWatches)
  }

  /**
   * Resolves links, and watches their hops, and the files at their ends. Queues a link again, with `since`, whose watches were not there before it was resolved:
   * what changed in between has no event.
   */
  async follow(links: readonly FollowedLink[], since: number): Promise<Way[]> {
    const { tree, system } = this.#context
    const ways = await waysOf(
      links.map(({ parent, name }) => tree.pathOf(parent, name)),
      system,
    )
    this.#watch(links, ways, since)
    await this.#survey(links, ways)
    for (const link of links) this.#notePolled(link)
    return ways
  }

  forget(link: FollowedLink): void {
    this.polled.delete(link)
    this.#noteRefusal(link, undefined)
    // Kept until the task is done: the next link at the place may have the same watches. Each removal is an event, and a queue that overflows by
    // thousands of them has every link looked at anew.
    for (const wd of this.#linkIndex.set(link, undefined)) this.#context.tree.retired.add(wd)
  }

  #watch(links: readonly FollowedLink[], ways: readonly Way[], since: number): void {
    const { tree, pending, inotify: source } = this.#context
    const inotify = source.instance
    const cache = inotify && new PathWatchCache(inotify)
    const fresh = new Set<LinkHops>()
    const left: number[] = []
    for (const [i, link] of links.entries()) {
      const way = ways[i] as Way
      const { parent, name, hops: before } = link
      if (inotify === undefined || cache === undefined || parent.mount.usesPolling) {
        this.#register(link, way, this.#linkIndex.hopsOf(way), 0, left)
        this.#noteRefusal(link, undefined)
        continue
      }
      const isFile = !(believedAt(tree, link) instanceof Directory)
      // Before the hops: where there are few watches, it is better that some links have all of theirs.
      const file = isFile ? watchFile(way.realPath, inotify) : undefined
      const along = watchWays(way, true, cache)
      const hops = this.#linkIndex.hopsOf(way, along)
      const isSettled = hops.links.size > 0 && !fresh.has(hops)
      if (!isSettled) fresh.add(hops)
      const isMoved = this.#register(link, way, hops, typeof file === 'number' ? file : 0, left)
      const refused = along.refused ?? (typeof file === 'object' ? file : undefined)
      const wasRefused = this.#noteRefusal(link, refused)
      if (!isMoved && wasRefused === (refused !== undefined)) continue
      // A directory was listed before its hops were watched.
      if (before !== undefined || !isFile) pending.work.look(parent, name)
      if (!isSettled) pending.work.follow(parent, name, since)
    }
    // Not sooner: those that one link has left may have been found again for another.
    source.retire(left)
  }

  /** Returns true if the link leads over other hops than before. Adds to `left` the watches that may be nobody's any more. */
  #register(link: FollowedLink, { realPath }: Way, hops: LinkHops, own: number, left: number[]): boolean {
    const { name, hops: before, watchedAs, end } = link
    const endNow = basename(realPath)
    const isSame = before === hops && watchedAs === name && end === endNow
    const names = { watchedAs: name, end: end === endNow ? end : flat(endNow), own }
    left.push(...this.#linkIndex.set(link, hops, names))
    if (!isSame) link.isSilent = undefined
    return !isSame
  }

  #notePolled(link: FollowedLink): void {
    const isUnwatched = this.refused.has(link) && this.#context.sourceChoice.mayFallBack
    if (link.hops?.isWatched !== true || link.isSilent || isUnwatched) this.polled.add(link)
    else this.polled.delete(link)
  }

  /**
   * Returns true if a watch was refused before. A shortage ends for links when none of them lacks a watch any more: that some have all theirs says little, since
   * they share them with others.
   */
  #noteRefusal(link: FollowedLink, refused: InotifyError | undefined): boolean {
    const { watchShortage } = this.#context
    const before = this.refused.get(link)
    if (refused === undefined) this.refused.delete(link)
    else this.refused.set(link, refused)
    const wasShort = before !== undefined && isOutOfWatches(before)
    const isShort = refused !== undefined && isOutOfWatches(refused)
    if (isShort !== wasShort) this.#outOfWatches += isShort ? 1 : -1
    if (isShort && !wasShort) watchShortage.note(refused)
    else if (wasShort && this.#outOfWatches === 0) watchShortage.end()
    return before !== undefined
  }

  /** Finds out which of these links have hops, or an end, on a mount where inotify does not report every change. */
  async #survey(links: readonly FollowedLink[], ways: readonly Way[]): Promise<void> {
    const { system, sourceChoice } = this.#context
    for (const link of links) if (link.parent.mount.usesPolling) link.isSilent = true
    const fresh = ways.filter((_, i) => links[i]?.isSilent === undefined)
    if (fresh.length === 0) return
    // The source of the link itself is known.
    const sought = fresh.map((way) => ({ ...way, links: way.links.slice(1) }))
    const silent = await areSilent(sought, system, (path) => sourceChoice.chooseBelow(path))
    for (const link of links) link.isSilent ??= silent.shift()
  }
}

/** A copy: what is cut from a path keeps all of that. */
function flat(name: string): string {
  return [name.slice(0, 1), name.slice(1)].join('')
}
