import { basename, dirname } from 'node:path'
import type { InotifyError } from '../../../errors.ts'
import type { Choice } from '../../../mounts/filesystems.ts'
import type { SurveyedDirectory } from '../../system.ts'
import type { RootsContext } from '../context.ts'
import { isOutOfWatches, PathWatchCache, type Way, watchFile, watchWays, waysOf } from '../ways.ts'
import type { FollowedLink, LinkHops } from './followed_link.ts'
import { LinkIndex } from './link_index.ts'

/** A link that is to be followed, by its path; `isFile`: no directory is believed to be where it leads. */
export interface SoughtLink {
  readonly link: FollowedLink
  readonly path: string
  readonly isFile: boolean
}

/** The same, and where it led. */
interface SeenLink extends SoughtLink {
  readonly way: Way
}

/** The watches on the hops of links, and the links that have to be polled since these do not tell of all. It does not look at what is at their ends. */
export class LinkWatches {
  readonly #context: RootsContext
  /** The watches by which a link may lead elsewhere: see ways.ts. */
  readonly #linkIndex: LinkIndex
  readonly #polled = new Set<FollowedLink>()
  readonly #refused = new Map<FollowedLink, InotifyError>()
  // How many of these have found no watch.
  #outOfWatches = 0

  constructor(context: RootsContext) {
    this.#context = context
    this.#linkIndex = new LinkIndex(context.pathWatches)
  }

  /** The links of which a change may have no event. */
  get polled(): ReadonlySet<FollowedLink> {
    return this.#polled
  }

  /** The links whose hops are not watched, or not all of them, and why. */
  get refused(): ReadonlyMap<FollowedLink, InotifyError> {
    return this.#refused
  }

  /**
   * Resolves links, and watches their hops, `isFile`: and the files at their ends. Queues a link again, with `since`, whose watches were not there before it was
   * resolved: what changed in between has no event.
   */
  async follow(links: readonly SoughtLink[], since: number): Promise<Way[]> {
    const ways = await waysOf(
      links.map(({ path }) => path),
      this.#context.system,
    )
    const seen = links.map((each, i) => ({ ...each, way: ways[i] as Way }))
    this.#watch(seen, since)
    await this.#survey(seen)
    for (const { link } of seen) this.#notePolled(link)
    return ways
  }

  forget(link: FollowedLink): void {
    this.#polled.delete(link)
    this.#noteRefusal(link, undefined)
    this.#context.watches.retire(this.#linkIndex.set(link, undefined))
  }

  #watch(seen: readonly SeenLink[], since: number): void {
    const { pending, watches } = this.#context
    const inotify = this.#context.inotify.instance
    const cache = inotify && new PathWatchCache(inotify)
    const fresh = new Set<LinkHops>()
    const left: number[] = []
    for (const { link, way, isFile } of seen) {
      const { parent, name, hops: before } = link
      if (inotify === undefined || cache === undefined || parent.mount.usesPolling) {
        this.#register(link, way, this.#linkIndex.hopsOf(way), 0, left)
        this.#noteRefusal(link, undefined)
        continue
      }
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
    watches.retire(left)
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
    const isUnwatched = this.#refused.has(link) && this.#context.sourceChoice.mayFallBack
    if (link.hops?.isWatched !== true || link.isSilent || isUnwatched) this.#polled.add(link)
    else this.#polled.delete(link)
  }

  /**
   * Returns true if a watch was refused before. A shortage ends for links when none of them lacks a watch any more: that some have all theirs says little, since
   * they share them with others.
   */
  #noteRefusal(link: FollowedLink, refused: InotifyError | undefined): boolean {
    const { watchShortage } = this.#context
    const before = this.#refused.get(link)
    if (refused === undefined) this.#refused.delete(link)
    else this.#refused.set(link, refused)
    const wasShort = before !== undefined && isOutOfWatches(before)
    const isShort = refused !== undefined && isOutOfWatches(refused)
    if (isShort !== wasShort) this.#outOfWatches += isShort ? 1 : -1
    if (isShort && !wasShort) watchShortage.note(refused)
    else if (wasShort && this.#outOfWatches === 0) watchShortage.end()
    return before !== undefined
  }

  /** Finds out which of these links have hops, or an end, on a mount that does not report all changes. Looks at the mount table once. */
  async #survey(seen: readonly SeenLink[]): Promise<void> {
    const fresh = seen.filter(({ link }) => link.isSilent === undefined)
    if (fresh.length === 0) return
    const directories = fresh.flatMap(({ way }) => [dirname(way.realPath), ...turnDirectories(way)])
    // Failures are said by those who ask for a single path.
    const told = await this.#context.system.survey([...new Set(directories)]).catch(() => NONE)
    const isSilentAt = async (path: string) => {
      const choice = told.get(path)?.choice ?? (await this.#choose(path))
      return choice !== undefined && 'backend' in choice && choice.backend !== 'inotify'
    }
    const silent = async ({ link, way }: SeenLink) => {
      if (link.parent.mount.usesPolling) return true
      const turns = await Promise.all(turnDirectories(way).map(isSilentAt))
      if (turns.includes(true)) return true
      const mounted = told.get(dirname(way.realPath))?.mounted
      return mounted?.has(basename(way.realPath)) !== false && (await isSilentAt(way.realPath))
    }
    const set = async (each: SeenLink) => {
      each.link.isSilent = await silent(each)
    }
    await Promise.all(fresh.map(set))
  }

  async #choose(path: string): Promise<Choice | { refused: Error } | undefined> {
    const choice = await this.#context.sourceChoice.chooseBelow(path).catch(() => undefined)
    return choice === undefined && path !== '/' ? await this.#choose(dirname(path)) : choice
  }
}

const NONE: ReadonlyMap<string, SurveyedDirectory> = new Map()

/** Returns the directories where a path turns, but for the directory of the link itself. */
function turnDirectories({ links, left }: Way): string[] {
  return [...links.slice(1).map(({ path }) => path), ...left].map((turn) => dirname(turn))
}

/** A copy: what is cut from a path keeps all of that. */
function flat(name: string): string {
  return [name.slice(0, 1), name.slice(1)].join('')
}
