import { InotifyError } from '../../../errors.ts'
import { addHint } from '../../../inotify/limits.ts'
import type { InotifyInstance } from '../../inotify_instance.ts'
import { openError } from '../../report/watch_error.ts'
import type { Listing } from '../../scan/listing.ts'
import type { Patience } from '../../scan/patience.ts'
import type { WalkRequest } from '../../scan/walk_request.ts'
import type { TreeWalker } from '../../system.ts'
import { type Directory, isLinkBase, WatchedMount } from '../../tree/directory.ts'
import type { DiffContext } from '../context.ts'
import { ScanFrontier } from './scan_frontier.ts'
import { Snapshot } from './snapshot.ts'
import type { Place, ScanTarget, SnapshotDir } from './snapshot_dir.ts'

/** Leaves directories out of a snapshot, since all is known of them. */
export interface LeftOut {
  /** Returns true if a directory is left out. */
  take(listing: Listing): boolean
  /** Notes that another walk begins: the ids of listings count from 0 again. */
  begin(): void
  /** Returns a directory that was left out, by the id of its listing. */
  directoryOf(id: number): Directory | undefined
  /** Returns true if this known directory was left out. */
  has?(directory: Directory): boolean
}

export interface ScanOptions {
  /** True: the scan adds no watch, looks neither where links lead nor what begins at mount points, and may leave out unchanged directories. */
  isPoll?: boolean
  /** True: the directories alone are listed, and below them those that are not known. */
  isLook?: boolean
  /** True: every entry is looked at. */
  statAll?: boolean
  /** ms since the epoch: where no stat is kept, entries unchanged since then are listed as if they had not been looked at. */
  since?: number
  leftOut?: LeftOut | undefined
  /** Called after each listing that was added to the snapshot. */
  progress?: (() => void) | undefined
}

/**
 * Sends the walker through directories, and then into what the walker has met on its way, walk after walk: see {@link ScanFrontier}. It owns a walker,
 * and changes nothing in the tree.
 */
export class Scanner {
  readonly #context: DiffContext
  readonly #walker: TreeWalker
  readonly #frontier: ScanFrontier

  constructor(context: DiffContext, walker: TreeWalker) {
    this.#context = context
    this.#walker = walker
    this.#frontier = new ScanFrontier(context, walker)
  }

  /** Returns what is in these directories now, and in all that lie below them. */
  async scan(directories: readonly Directory[], options: ScanOptions): Promise<Snapshot> {
    const { isPoll, isLook = false, leftOut } = options
    const snapshot = this.begin(isPoll !== true, leftOut)
    const targets = directories.map((directory) => this.target(snapshot, directory, { isLook }))
    await this.extend(snapshot, targets, options)
    return snapshot
  }

  /** Returns an empty snapshot. */
  begin(isResolved = true, leftOut?: LeftOut): Snapshot {
    const { rules, system } = this.#context
    return new Snapshot(rules, system.clock.now(), isResolved, leftOut)
  }

  /** Returns what a walk by these directories' requests has found. */
  snapshotOf(directories: readonly Directory[], listings: Iterable<Listing>, options: ScanOptions): Snapshot {
    const snapshot = this.begin(options.isPoll !== true)
    snapshot.begin(directories.map((directory) => this.target(snapshot, directory)))
    for (const listing of listings) snapshot.take(listing)
    return snapshot
  }

  target(
    snapshot: Snapshot,
    directory: Directory,
    look: Pick<ScanTarget, 'isLook' | 'names'> = {},
  ): ScanTarget {
    const { name, parent, mount } = directory
    const isBase = parent !== undefined && mount.base === directory
    const above = parent === undefined ? undefined : snapshot.wayTo(parent)
    const place = this.placeOf(directory)
    return { ...look, place, name, parent: above, mount, isBase, requested: directory }
  }

  /** Adds to a snapshot what is at these places, and what the walker meets there. */
  async extend(snapshot: Snapshot, targets: readonly ScanTarget[], options: ScanOptions): Promise<void> {
    const { inotify } = this.#context
    const { leftOut } = options
    let others: ScanTarget[] = []
    for (let next = targets; next.length > 0; ) {
      const fresh: SnapshotDir[] = []
      const take = (listing: Listing) => {
        if (leftOut?.take(listing)) return
        const { parent } = listing
        const above = parent === undefined || snapshot.has(parent) ? undefined : leftOut?.directoryOf(parent)
        if (parent !== undefined && above !== undefined) this.#adopt(snapshot, parent, above)
        const found = snapshot.take(listing)
        if (found !== undefined && this.#frontier.mayLeadOn(found)) fresh.push(found)
        options.progress?.()
      }
      snapshot.begin(next)
      leftOut?.begin()
      const requests = next.map((target) => this.request(target, options))
      await this.#walker.walk(requests, take, options.isPoll ? undefined : inotify.instance)
      const beyond = await this.#frontier.beyond(snapshot, fresh)
      others.push(...beyond.others)
      next = beyond.level
      // Apart from the levels: the walks through these are then the same as those that were made ahead.
      if (next.length === 0) [next, others] = [others, []]
    }
  }

  /**
   * Makes ahead, within this call, the walks that the first scan of a root will ask for, as far as patience goes: the scan then shows what was there, and
   * watched, when this call returned. Other mounts and the ends of followed links are left to the scan. For a root of which inotify tells all.
   *
   * @returns true if all of them are over
   * @throws {InotifyError} as the root cannot be opened, read or watched
   */
  scanAhead(root: string, inotify: InotifyInstance, patience: Patience): boolean {
    const { recursive, hidesSome } = this.#context.rules
    const mount = new WatchedMount({ backend: 'inotify', why: '' })
    const top = { place: this.#placeOfRoot(root), name: root, parent: undefined, mount, isBase: false }
    const snapshot = this.begin()
    for (let next: readonly ScanTarget[] = [top]; next.length > 0; ) {
      const requests = next.map((target) => this.request(target, {}))
      const listings = this.#walker.walkAhead(requests, inotify, patience)
      if (listings === undefined) return false
      patience.count(listings.length)
      if (next[0] === top && listings[0] !== undefined) assertWatched(listings[0], root)
      // The walker has gone into all by itself.
      if (!recursive || !hidesSome) return true
      snapshot.begin(next)
      const below: ScanTarget[] = []
      for (const listing of listings) {
        const found = snapshot.take(listing)
        if (patience.rest() <= 0) return false
        if (!found?.isRead || found.isOnOtherMount) continue
        // Files need not be asked about: the scan does that.
        below.push(...this.#frontier.levelBelow(found, found.visible(listing.subdirectories())))
      }
      next = below
    }
    return true
  }

  #placeOfRoot(root: string): Place {
    return this.#context.rules.followsRoots ? { root, rel: '' } : { root, noFollow: true, rel: '' }
  }

  /** Adds a directory that was left out, as one in it was not. */
  #adopt(snapshot: Snapshot, id: number, directory: Directory): void {
    const found = snapshot.wayTo(directory)
    found.way = this.placeOf(directory)
    snapshot.adopt(id, found)
  }

  /** Adds what a walk through a snapshot's directories would meet. */
  async complete(snapshot: Snapshot, options: ScanOptions): Promise<void> {
    const fresh = snapshot.directories.filter((found) => this.#frontier.mayLeadOn(found))
    const { level, others } = await this.#frontier.beyond(snapshot, fresh)
    await this.extend(snapshot, [...level, ...others], options)
  }

  /** Returns the request for a directory. */
  requestFor(directory: Directory, options: ScanOptions): WalkRequest {
    return this.request(this.target(this.begin(), directory), options)
  }

  request(
    { place, mount, names, isLook, requested, isWatched }: ScanTarget,
    { isPoll, statAll, since = Number.POSITIVE_INFINITY }: ScanOptions,
  ): WalkRequest {
    const { recursive, hidesSome } = this.#context.rules
    const hash = this.#context.settings.hash && mount.usesPolling
    if (names !== undefined) return { ...place, stat: true, hash, names: [...names] }
    const isWhole = recursive && !hidesSome && isLook !== true
    if (isPoll) return { ...place, recursive: isWhole, stat: true, compare: isLook !== true, hash }
    const isAllowed = this.#context.watchLimit?.ask(isWatched ?? (requested?.wd ?? 0) > 0) ?? true
    // A directory, or one below, may be polled for want of a watch.
    const isKept = !isAllowed || mount.usesPolling || mount.leftover.size > 0 || isLook === true
    const stat = isKept || statAll === true
    const request = { ...place, recursive: isWhole, watch: mount.usesInotify && isAllowed, stat, hash }
    return statAll && !isKept && since !== Number.POSITIVE_INFINITY ? { ...request, since } : request
  }

  /** Returns how to get to a known directory: from its root, or from the link that leads there. */
  placeOf(directory: Directory): Place {
    const names: string[] = []
    let base = directory
    for (; base.parent !== undefined && !isLinkBase(base); base = base.parent) names.push(base.name)
    const rel = names.reverse().join('/')
    const root = this.#context.tree.pathOf(base)
    const place: Place = base.isRoot ? { ...this.#placeOfRoot(root), rel } : { root, rel }
    const parentIno = base === directory ? 0 : (directory.parent?.ino ?? 0)
    return parentIno === 0 ? place : { ...place, parentIno }
  }
}

function assertWatched({ error, wd }: Listing, path: string): void {
  if (error < 0) throw openError(error, path)
  if (wd < 0) throw new InotifyError({ errno: -wd, syscall: 'inotify_add_watch', path, hint: addHint(-wd) })
}
