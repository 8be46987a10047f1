import { basename, dirname } from 'node:path'
import type { InotifyError } from '../../../errors.ts'
import type { Choice } from '../../../mounts/filesystems.ts'
import type { SurveyedDirectory } from '../../system.ts'
import type { RootsContext } from '../context.ts'
import { isOutOfWatches, MOST_TIMES, type Way, watchFile, waysOf } from '../ways.ts'
import type { FollowedLink } from './followed_link.ts'
import { LinkIndex } from './link_index.ts'
import type { FoundWay, LinkWay } from './link_way.ts'

/** A link that is to be followed, by its path, and whether no directory is believed to be where it leads. */
export interface SoughtLink {
  readonly link: FollowedLink
  readonly path: string
  readonly isFile: boolean
}

/** The same, and where it led. */
interface SeenLink extends SoughtLink {
  readonly way: Way
  /** Nobody has looked before. */
  readonly isFresh: boolean
}

/** The watches on the ways of links, and the links that have to be polled since these do not tell of all. It does not look at what is at their ends. */
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

  /** Of what a change may be told by nobody. */
  get polled(): ReadonlySet<FollowedLink> {
    return this.#polled
  }

  /** Those whose way is not watched, or not all of it, and why. */
  get refused(): ReadonlyMap<FollowedLink, InotifyError> {
    return this.#refused
  }

  /**
   * Finds out where links lead by now, and watches that, `isFile`: and the file there. As long as the way of one at which nobody has looked before was not
   * watched before it was followed, it is followed once more. Another is to be looked at once more if that is another way than before, or lacks a watch no
   * more: of what changed before that, nobody tells.
   */
  async follow(links: readonly SoughtLink[]): Promise<Way[]> {
    const ways = new Map<FollowedLink, Way>()
    let sought = links.map((each) => ({ ...each, isFresh: each.link.way === undefined }))
    for (let times = 1; sought.length > 0; times++) {
      const followed = await waysOf(
        sought.map(({ path }) => path),
        this.#context.system,
      )
      const seen = sought.map((each, i) => ({ ...each, way: followed[i] as Way }))
      for (const { link, way } of seen) ways.set(link, way)
      const unsettled = this.#watch(seen, times === MOST_TIMES)
      await this.#survey(seen.filter((each) => !unsettled.has(each)))
      for (const each of seen) if (!unsettled.has(each)) this.#notePolled(each.link)
      sought = [...unsettled]
    }
    return links.map(({ link }) => ways.get(link) as Way)
  }

  forget(link: FollowedLink): void {
    this.#polled.delete(link)
    this.#noteRefusal(link, undefined)
    this.#context.watches.retire(this.#linkIndex.set(link, undefined))
  }

  /** @returns those that are to be followed once more at once */
  #watch(seen: readonly SeenLink[], isLast: boolean): ReadonlySet<SeenLink> {
    const { watches } = this.#context
    const inotify = this.#context.inotify.instance
    const watchWay = inotify && this.#linkIndex.ways.watchingWith(inotify)
    const unsettled = new Set<SeenLink>()
    const left: number[] = []
    for (const each of seen) {
      const { link, way, isFile, isFresh } = each
      if (inotify === undefined || watchWay === undefined || link.parent.mount.usesPolling) {
        left.push(...this.#seat(each, this.#linkIndex.ways.unwatched(way), 0))
        this.#noteRefusal(link, undefined)
        continue
      }
      // Before its way: where there are few watches, it is better that some links have all of theirs.
      const file = isFile ? watchFile(way.realPath, inotify) : undefined
      const found = watchWay(way)
      left.push(...this.#settle(each, found, file, isLast))
      if (isFresh && !found.isSettled && !isLast) unsettled.add(each)
    }
    // Not sooner: those that one has left may have been found again for another.
    watches.retire(left)
    return unsettled
  }

  /** @param file the watch of the file at its end */
  #settle(
    each: SeenLink,
    found: FoundWay,
    file: number | InotifyError | undefined,
    isLast: boolean,
  ): number[] {
    const { link, isFile, isFresh } = each
    const { way, watchedAs, end } = link
    const wasRefused = this.#refused.has(link)
    const left = this.#seat(each, found.way, typeof file === 'number' ? file : 0)
    const refused = found.refused ?? (typeof file === 'object' ? file : undefined)
    this.#noteRefusal(link, refused)
    const isMoved = link.way !== way || link.watchedAs !== watchedAs || link.end !== end
    const isOther = isMoved || (refused !== undefined) !== wasRefused
    // What a directory holds was listed before its way was watched.
    const isOpen = isFresh ? (found.isSettled ? !isFile : isLast) : isOther
    if (isOpen) this.#context.pending.work.look(link.parent, link.name)
    return left
  }

  #seat({ link, way: { realPath } }: SeenLink, way: LinkWay, own: number): number[] {
    const { name } = link
    const end = basename(realPath)
    const isSameEnd = link.end === end
    if (link.way?.key !== way.key || link.watchedAs !== name || !isSameEnd) link.isSilent = undefined
    return this.#linkIndex.set(link, { way, name, end: isSameEnd ? link.end : flat(end), own })
  }

  #notePolled(link: FollowedLink): void {
    const isUnwatched = this.#refused.has(link) && this.#context.sourceChoice.mayFallBack
    if (link.way?.isWatched !== true || link.isSilent || isUnwatched) this.#polled.add(link)
    else this.#polled.delete(link)
  }

  /** A shortage ends for links when none of them lacks a watch any more: that some have all theirs says little, since they share them with others. */
  #noteRefusal(link: FollowedLink, refused: InotifyError | undefined): void {
    const { watchShortage } = this.#context
    const before = this.#refused.get(link)
    if (refused === undefined) this.#refused.delete(link)
    else this.#refused.set(link, refused)
    const wasShort = before !== undefined && isOutOfWatches(before)
    const isShort = refused !== undefined && isOutOfWatches(refused)
    if (isShort === wasShort) return
    this.#outOfWatches += isShort ? 1 : -1
    if (isShort) watchShortage.note(refused)
    else if (this.#outOfWatches === 0) watchShortage.end()
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
