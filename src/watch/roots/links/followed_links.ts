import { InotifyError } from '../../../errors.ts'
import { isWithin } from '../../../mounts/mountinfo.ts'
import { textOf } from '../../../name_key.ts'
import { ABOUT_NAME, GONE } from '../../events/watch_mask.ts'
import type { NamesOf } from '../../pending/dirty_set.ts'
import type { Source } from '../../report/change.ts'
import { openError } from '../../report/watch_error.ts'
import type { Entry } from '../../scan/entry.ts'
import { Directory } from '../../tree/directory.ts'
import type { RootsContext } from '../context.ts'
import type { Hints } from '../path_watches.ts'
import type { Way } from '../ways.ts'
import {
  alterationOfEnd,
  believedAt,
  type FollowedLink,
  ledToFile,
  MountedFile,
  OF_FILE,
} from './followed_link.ts'
import { hintsForLinks } from './link_index.ts'
import { LinkPlaces } from './link_places.ts'
import { LinkWatches } from './link_watches.ts'

const AT_ONCE = 512

/** The place of an entry. */
export type Place = Pick<FollowedLink, 'parent' | 'name'>

/**
 * The symlinks that are followed. The end of a link can change without an event in the link's own tree: a directory on the way is renamed or removed, or
 * another symlink on the way is swapped. So all hops of a link are watched, as those of a root are, and the file at the end. The entries of a directory
 * at the end have that directory's own watches.
 */
export class FollowedLinks {
  readonly #context: RootsContext
  readonly #watches: LinkWatches
  readonly #places = new LinkPlaces()
  #mounted: ReadonlySet<MountedFile> = new Set()
  #sizeAtPrune = 0
  // ms since the epoch: when the last poll began.
  #polledAt = Number.NEGATIVE_INFINITY

  constructor(context: RootsContext) {
    this.#context = context
    this.#watches = new LinkWatches(context)
  }

  /** True: some links have hops of which not every change makes an event. */
  get arePolled(): boolean {
    return this.#watches.polled.size > 0
  }

  /**
   * Brings the watches of these links up to date, after a look has seen where each link leads. A link that leads over other hops than before is looked at once more.
   *
   * @param since ms since the epoch: changes from then on to the file at the end of a new link are reported
   */
  async follow(names: NamesOf, since: number): Promise<void> {
    this.takeMoves()
    this.#prune()
    const links = [...names].flatMap(([parent, some]) =>
      [...some].map((name) => this.#places.at(parent, name)),
    )
    const there = links.filter((link) => this.#isThere(link) && this.#mayTell(link))
    await this.#lookUnlessShort(there, since)
  }

  /** Follows the files that are mounted over these names, and no other mounted files. */
  async followMounted(places: Iterable<Place>): Promise<void> {
    const mounted = new Set<MountedFile>()
    const fresh: MountedFile[] = []
    for (const { parent, name } of places) {
      let file = this.#places.at(parent, name)
      if (!(file instanceof MountedFile)) {
        this.#forget(file)
        file = this.#places.put(new MountedFile(parent, name))
        fresh.push(file)
      }
      mounted.add(file)
    }
    for (const file of this.#mounted) if (!mounted.has(file)) this.#forget(file)
    this.#mounted = mounted
    await this.#lookUnlessShort(fresh, Number.POSITIVE_INFINITY)
  }

  /** Marks the links that events concern to be looked at. */
  take(hints: Hints): void {
    const { work } = this.#context.pending
    this.takeMoves()
    for (const [link, { own, all }] of hintsForLinks(hints)) {
      const { parent, name } = link
      if (!this.#isThere(link)) this.#forget(link)
      // Another link may have taken its place since.
      if (!this.#places.has(link)) continue
      link.hint |= own & OF_FILE
      if (!this.#mayTell(link)) continue
      // A file has events where the tree has a directory, if a look has found a new link before these events of the old one.
      if (all & (ABOUT_NAME | GONE) || believedAt(this.#context.tree, link) instanceof Directory)
        work.look(parent, name)
      else if (link.hint !== 0) work.follow(parent, name, Number.POSITIVE_INFINITY)
    }
  }

  /** Moves what is known of links with the links. Earlier changes of their files are reported under the earlier names. */
  takeMoves(): void {
    const { tree, pending, rules, system } = this.#context
    if (tree.movedLinks.length === 0) return
    const moves = tree.movedLinks.splice(0)
    for (const moved of rules.followsLinks ? moves : []) {
      const { displaced, unknown } = this.#places.move(moved)
      for (const link of displaced) this.#watches.forget(link)
      // These were renamed before a look could show that they are links.
      for (const { directory, name } of unknown) pending.work.follow(directory, name, pending.consistentUntil)
      // Another link has the name by now. That has been reported, and with it the file at the end: only later changes of the file are still to be reported.
      for (const { from, to } of moved)
        if (to === undefined && this.#isThere({ parent: from.directory, name: from.name }))
          pending.work.follow(from.directory, from.name, system.clock.now())
    }
  }

  /** Notes that events were lost: the next look reports files that were changed since. */
  onOverflow(): void {
    const { consistentUntil } = this.#context.pending
    for (const link of this.#places) doubt(link, consistentUntil)
  }

  /** Looks again at the links whose hops are on one of these points, where mounts have come or gone, and asks the mounts anew. No event tells of that. */
  onMounts(points: readonly string[]): void {
    const { pending, system } = this.#context
    for (const link of this.#places) {
      const { parent, name, realPath, hops } = link
      const route = realPath === undefined ? [] : [realPath, ...(hops?.turns ?? [])]
      if (!route.some((path) => points.some((point) => isWithin(path, point)))) continue
      link.isSilent = undefined
      if (!this.#isThere(link)) continue
      pending.work.look(parent, name)
      pending.work.follow(parent, name, system.clock.now())
    }
  }

  /** Returns the directories to which links lead, and their real paths. */
  *ends(): Generator<{ base: Directory; realPath: string }> {
    for (const link of this.#places) {
      const { realPath } = link
      const base =
        realPath !== undefined && this.#mayTell(link) ? believedAt(this.#context.tree, link) : undefined
      if (realPath !== undefined && base instanceof Directory) yield { base, realPath }
    }
  }

  /** Yields the links whose hops are not watched, or not all of them, each with the reason. */
  *refused(): Generator<{ parent: Directory; name: string; error: InotifyError }> {
    for (const [link, error] of this.#watches.refused) {
      if (this.#isThere(link)) yield { parent: link.parent, name: link.name, error }
    }
  }

  /** Returns the directories of the ends of links at which a poll looks, as far as they are known. */
  get polledDirectories(): Set<string> {
    return new Set(
      [...this.#watches.polled].flatMap(({ hops }) => (hops === undefined ? [] : [hops.directory])),
    )
  }

  /** Looks at the links whose hops make no event. */
  async poll(): Promise<void> {
    this.takeMoves()
    for (const link of this.#watches.polled) if (!this.#isThere(link)) this.#forget(link)
    const links = [...this.#watches.polled].filter((link) => this.#mayTell(link))
    const startedAt = this.#context.system.clock.now()
    await this.#lookUnlessShort(links, Number.POSITIVE_INFINITY, 'poll')
    this.#polledAt = startedAt
    // Once a poll, even if the last poll saw the same: a link that led back to a directory above may lead elsewhere after that directory has moved.
    for (const link of links)
      if (!this.#isAsBelieved(link)) this.#context.pending.work.look(link.parent, link.name)
  }

  /**
   * Looks at links. A shortage queues them again.
   *
   * @param source left out: the source of the link's mount
   */
  async #lookUnlessShort(links: readonly FollowedLink[], since: number, source?: Source): Promise<void> {
    const { pending, shortage } = this.#context
    for (let i = 0; i < links.length; i += AT_ONCE) {
      const some = links.slice(i, i + AT_ONCE)
      const done = await shortage.unless(this, () => this.#look(some, since, source))
      if (!done) for (const { parent, name } of some) pending.work.follow(parent, name, since)
    }
  }

  async #look(links: readonly FollowedLink[], since: number, source?: Source): Promise<void> {
    const ways = await this.#watches.follow(links, since)
    // The look comes after the watches, so that no change falls between the two.
    const isPolled = links.some((link) => this.#watches.polled.has(link))
    const targets = await this.#endsOf(ways, isPolled && this.#context.settings.hash)
    for (const [i, link] of links.entries()) {
      const target = targets[i] ?? null
      if (target instanceof InotifyError) this.#askAgain(link, target, since)
      else this.#compare(link, target, since, source ?? (link.parent.mount.usesPolling ? 'poll' : 'inotify'))
    }
  }

  /** Returns the entry at the end of each way. A name that a '..' leaves again has to be a directory, or the path leads nowhere. */
  async #endsOf(ways: readonly Way[], hash: boolean): Promise<Array<Entry | null | InotifyError>> {
    const { looker } = this.#context
    const ends = await looker.stat(
      ways.map(({ realPath }) => realPath),
      hash,
    )
    const left = [...new Set(ways.flatMap((way) => way.left))]
    if (left.length === 0) return ends
    const found = await looker.stat(left)
    const at = new Map(left.map((path, i) => [path, found[i] ?? null]))
    return ends.map((end, i) => {
      const turns = (ways[i]?.left ?? []).map((path) => at.get(path) ?? null)
      const failed = turns.find((each) => each instanceof InotifyError)
      const isThere = turns.every((each) => each !== null && 'kind' in each && each.kind === 'directory')
      return failed ?? (isThere ? end : null)
    })
  }

  /** Asks again later, as a server or a disk cannot say what is at the end. Until then the last finding stands. The listing of a directory reports the error itself. */
  #askAgain(link: FollowedLink, error: InotifyError, since: number): void {
    const { pending, reporter, tree } = this.#context
    const { parent, name } = link
    pending.failed.follow(parent, name, since)
    // An event may ask for a look sooner, with a later `since`.
    if (!ledToFile(link)) doubt(link, since)
    if (!link.isUnanswered && !(believedAt(this.#context.tree, link) instanceof Directory))
      reporter.trouble(openError(error.errno, textOf(tree.pathOf(parent, name))))
    link.isUnanswered = true
  }

  #compare(link: FollowedLink, after: Entry | null, since: number, source: Source): void {
    const { parent, name, target: before } = link
    const seenAt = this.#watches.polled.has(link) ? this.#polledAt : Number.NEGATIVE_INFINITY
    const altered = alterationOfEnd(link, after, since, seenAt)
    const { hint } = link
    link.target = after
    link.isUnanswered = false
    link.hint = 0
    link.doubtedSince = undefined
    const believed = believedAt(this.#context.tree, link)
    if (believed === undefined) return
    link.isLinkToDirectory = after?.kind === 'directory' && !(believed instanceof Directory)
    if (!link.isLinkToDirectory) parent.mount.refused.take(parent, name)
    const isAsBelieved = this.#isAsBelieved(link)
    // A finding that is the same as before asks for no other look: the link may lead back to a directory above, or to one that cannot be read. Its events ask for the next look.
    const isNews = before === undefined || before?.ino !== after?.ino || before?.kind !== after?.kind
    const isReplaced = link.isReplaced || altered !== undefined
    link.isReplaced = !isAsBelieved && isNews && isReplaced
    if (!isAsBelieved && isNews) this.#context.pending.work.look(parent, name)
    else if (!(believed instanceof Directory) && isReplaced) {
      const path = this.#context.tree.pathOf(parent, name)
      const told = { type: altered ?? 'modify', path, kind: believed.kind, mask: hint } as const
      this.#context.reporter.report([{ ...told, source: hint === 0 ? source : 'inotify' }])
    }
  }

  /** Returns true if the last look has shown the directory that the tree has there; or no directory, if the tree has none. */
  #isAsBelieved(link: FollowedLink): boolean {
    const { target } = link
    const believed = believedAt(this.#context.tree, link)
    const seen = target?.kind === 'directory' ? target.ino : undefined
    return seen === (believed instanceof Directory ? believed.ino : undefined)
  }

  #isThere(link: Place): boolean {
    return believedAt(this.#context.tree, link) !== undefined
  }

  /** Returns false while the root is lost: the known end stays, to be compared when the link is followed again. */
  #mayTell({ parent }: FollowedLink): boolean {
    return this.#context.tree.isPresent(parent)
  }

  #forget(link: FollowedLink): void {
    if (this.#places.remove(link)) this.#watches.forget(link)
  }

  /** Forgets the links in directories that are gone, once the number of directories has doubled. Until then they cost a few watches. */
  #prune(): void {
    if (this.#places.directories < 2 * this.#sizeAtPrune + AT_ONCE) return
    for (const link of [...this.#places]) if (!this.#isThere(link)) this.#forget(link)
    this.#sizeAtPrune = this.#places.directories
  }
}

/** Has the next look report the file at the end if it was changed since. */
function doubt(link: FollowedLink, since: number): void {
  link.doubtedSince = Math.min(link.doubtedSince ?? Number.POSITIVE_INFINITY, since)
}
