import { dirname } from 'node:path'
import type { InotifyError } from '../../../errors.ts'
import type { EventBatch } from '../../../inotify/batch.ts'
import type { Choice } from '../../../mounts/filesystems.ts'
import { isWithin } from '../../../mounts/mountinfo.ts'
import type { InotifySource } from '../../events/inotify_source.ts'
import { ABOUT_NAME, GONE } from '../../events/watch_mask.ts'
import type { WatchRelease } from '../../events/watch_release.ts'
import type { Pending } from '../../pending/pending.ts'
import type { WatchShortage } from '../../report/watch_shortage.ts'
import type { SourceChoice } from '../../source_choice.ts'
import type { Hint, PathWatches } from '../path_watches.ts'
import { isOutOfWatches, keyOf, turnsOf, type WatchedWay, type Way, watchFile, watchWays } from '../ways.ts'
import type { FollowedLink } from './followed_link.ts'

export interface LinkWatchesParts {
  sourceChoice: SourceChoice
  pending: Pick<Pending, 'work'>
  watchShortage: WatchShortage
  inotify: Pick<InotifySource, 'instance'>
  /** What tells that a link may lead elsewhere: see ways.ts. */
  ways: PathWatches<FollowedLink>
  watches: WatchRelease
}

interface WatchedLink {
  /** What it leads over, and whether a part of that lies where events do not tell of all changes. */
  route: readonly string[]
  readonly isSilent: boolean
  /** What is watched, and whether that is all: to see whether it has changed. */
  way: string
}

/** The watches on the ways of links, and the links that have to be polled since these do not tell of all. It does not look where they lead. */
export class LinkWatches {
  readonly #parts: LinkWatchesParts
  readonly #links = new Map<FollowedLink, WatchedLink>()
  readonly #polled = new Set<FollowedLink>()
  readonly #refused = new Map<FollowedLink, InotifyError>()
  // How many of these have found no watch.
  #outOfWatches = 0

  constructor(parts: LinkWatchesParts) {
    this.#parts = parts
  }

  /** Of what a change may be told by nobody. */
  get polled(): ReadonlySet<FollowedLink> {
    return this.#polled
  }

  /** Those whose way is not watched, or not all of it, and why. */
  get refused(): ReadonlyMap<FollowedLink, InotifyError> {
    return this.#refused
  }

  collect(batch: EventBatch, start: number, end: number): ReadonlyMap<FollowedLink, Hint> {
    return this.#parts.ways.collect(batch, start, end, ABOUT_NAME | GONE)
  }

  /** Where each link leads, as it was seen last. */
  *ends(): Generator<[link: FollowedLink, realPath: string]> {
    for (const [link, { route }] of this.#links) if (route[0] !== undefined) yield [link, route[0]]
  }

  /** Those whose way leads over one of these mount points. What each mount on it tells is to be asked anew. */
  takeMounted(points: readonly string[]): FollowedLink[] {
    const mounted = [...this.#links].filter(([, { route }]) =>
      route.some((path) => points.some((point) => isWithin(path, point))),
    )
    for (const [, watched] of mounted) watched.route = []
    return mounted.map(([link]) => link)
  }

  /**
   * Watches where a link leads to by now, `isFile`: and the file there. It is to be looked at once more if that is another way than before, or lacks a
   * watch no more: of what changed before that, nobody tells.
   */
  async watch(link: FollowedLink, way: Way, isFile: boolean): Promise<void> {
    const known = this.#links.get(link)
    const watched = this.#watch(link, way, isFile)
    const route = [way.realPath, ...turnsOf(way)]
    const isKnown = known?.route.join('\0') === route.join('\0')
    const isSilent = isKnown ? known.isSilent : await this.#isSilent(link, way)
    const key = watched === undefined ? '' : keyOfWay(watched)
    if (watched !== undefined && known?.way !== key) this.#parts.pending.work.look(link.parent, link.name)
    this.#links.set(link, { route, isSilent, way: key })
    const isUnwatched = watched?.refused !== undefined && this.#parts.sourceChoice.mayFallBack
    if (watched === undefined || isSilent || isUnwatched) this.#polled.add(link)
    else this.#polled.delete(link)
  }

  forget(link: FollowedLink): void {
    this.#links.delete(link)
    this.#polled.delete(link)
    this.#noteRefusal(link, undefined)
    this.#parts.watches.retire(this.#parts.ways.set(link, []))
  }

  /** undefined: each poll looks at its end instead. */
  #watch(link: FollowedLink, way: Way, isFile: boolean): WatchedWay | undefined {
    const { ways, watches } = this.#parts
    const inotify = this.#parts.inotify.instance
    if (inotify === undefined || link.parent.mount.usesPolling) {
      watches.retire(ways.set(link, []))
      this.#noteRefusal(link, undefined)
      return undefined
    }
    const file = isFile ? watchFile(way.realPath, inotify) : undefined
    const own = typeof file === 'number' ? file : 0
    const { watched, refused = typeof file === 'object' ? file : undefined } = watchWays(way, true, inotify)
    watches.retire(ways.set(link, watched, own))
    this.#noteRefusal(link, refused)
    return { watched, refused }
  }

  /** A shortage ends for links when none of them lacks a watch any more: that some have all theirs says little, since they share them with others. */
  #noteRefusal(link: FollowedLink, refused: InotifyError | undefined): void {
    const { watchShortage } = this.#parts
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

  /** Whether a link on its way, what it leaves again, or what is at its end, lies on a mount whose changes are not all told. What is missing may come there. */
  async #isSilent({ parent }: FollowedLink, { realPath, links, left }: Way): Promise<boolean> {
    if (parent.mount.usesPolling) return true
    const [, ...others] = links
    const turns = [...others.map(({ path }) => path), ...left]
    const choices = await Promise.all([
      this.#choose(realPath),
      ...turns.map((turn) => this.#choose(dirname(turn))),
    ])
    return choices.some(
      (choice) => choice !== undefined && 'backend' in choice && choice.backend !== 'inotify',
    )
  }

  async #choose(path: string): Promise<Choice | { refused: Error } | undefined> {
    const choice = await this.#parts.sourceChoice.chooseBelow(path).catch(() => undefined)
    return choice === undefined && path !== '/' ? await this.#choose(dirname(path)) : choice
  }
}

function keyOfWay({ watched, refused }: WatchedWay): string {
  return refused === undefined ? keyOf(watched) : `${keyOf(watched)}/...`
}
