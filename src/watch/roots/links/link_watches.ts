import { basename, dirname } from 'node:path'
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
import type { SurveyedDirectory, WatchSystem } from '../../system.ts'
import type { Hint, PathWatches } from '../path_watches.ts'
import { isOutOfWatches, keyOf, turnsOf, type WatchedWay, type Way, watchFile, watchWays } from '../ways.ts'
import type { FollowedLink } from './followed_link.ts'

export interface LinkWatchesParts {
  system: Pick<WatchSystem, 'survey'>
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
  way: string | undefined
}

/** A link that was seen, where it led, and whether no directory is believed to be there. */
interface SeenLink {
  link: FollowedLink
  way: Way
  isFile: boolean
}

type Surveyed = ReadonlyMap<string, SurveyedDirectory>

const NONE: Surveyed = new Map()

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
   * Watches where links lead to by now, `isFile`: and the file there. One is to be looked at once more if that is another way than before, or lacks a
   * watch no more: of what changed before that, nobody tells.
   */
  async watch(seen: readonly SeenLink[]): Promise<void> {
    const watched = seen.map((each) => this.#watch(each))
    const fresh = seen.filter((each) => !this.#isKnown(each))
    const told = await this.#survey(fresh)
    await Promise.all(
      fresh.map(async (each) => {
        const isSilent = await this.#isSilent(each, told)
        this.#links.set(each.link, { route: routeOf(each), isSilent, way: this.#links.get(each.link)?.way })
      }),
    )
    for (const [i, each] of seen.entries()) this.#note(each.link, watched[i])
  }

  #isKnown(seen: SeenLink): boolean {
    return this.#links.get(seen.link)?.route.join('\0') === routeOf(seen).join('\0')
  }

  /** `watched`: undefined: nothing is. */
  #note(link: FollowedLink, watched: WatchedWay | undefined): void {
    const known = this.#links.get(link) as WatchedLink
    const { isSilent } = known
    const key = watched === undefined ? '' : keyOfWay(watched)
    if (watched !== undefined && known.way !== key) this.#parts.pending.work.look(link.parent, link.name)
    known.way = key
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
  #watch({ link, way, isFile }: SeenLink): WatchedWay | undefined {
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

  /** Those of the directories over which these lead of which inotify tells all: with one look at the mount table. */
  async #survey(seen: readonly SeenLink[]): Promise<Surveyed> {
    if (seen.length === 0) return NONE
    const directories = new Set(seen.flatMap(({ way }) => [dirname(way.realPath), ...turnDirectoriesOf(way)]))
    // Who asks one by one can say what is wrong.
    return await this.#parts.system.survey([...directories]).catch(() => NONE)
  }

  /** Whether a link on its way, what it leaves again, or what is at its end, lies on a mount whose changes are not all told. What is missing may come there. */
  async #isSilent({ link, way }: SeenLink, told: Surveyed): Promise<boolean> {
    if (link.parent.mount.usesPolling) return true
    const { realPath } = way
    const around = told.get(dirname(realPath))
    const isTold = around !== undefined && !around.mounted.has(basename(realPath))
    const choices = await Promise.all([
      isTold ? around.choice : this.#choose(realPath),
      ...turnDirectoriesOf(way).map((turn) => told.get(turn)?.choice ?? this.#choose(turn)),
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

function routeOf({ way }: SeenLink): string[] {
  return [way.realPath, ...turnsOf(way)]
}

/** Where the links lie that it leads over behind the first, and what it leaves again. */
function turnDirectoriesOf({ links: [, ...others], left }: Way): string[] {
  return [...others.map(({ path }) => path), ...left].map((turn) => dirname(turn))
}

function keyOfWay({ watched, refused }: WatchedWay): string {
  return refused === undefined ? keyOf(watched) : `${keyOf(watched)}/...`
}
