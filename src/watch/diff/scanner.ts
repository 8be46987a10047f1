import { debuglog } from 'node:util'
import type { Clock } from '../clock.ts'
import type { WatchingSource } from '../inotify_instance.ts'
import { textOf } from '../report/name_key.ts'
import { openError } from '../report/watch_error.ts'
import type { Rules } from '../rules.ts'
import { type Entry, mayBeSame } from '../scan/entry.ts'
import type { Listing, Taker } from '../scan/listing.ts'
import type { WalkRequest } from '../scan/walk_request.ts'
import type { SourceChoice } from '../source_choice.ts'
import type { TreeWalker } from '../system.ts'
import { Directory, isLinkBase, isUnwatched, WatchedMount } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { type Place, placeBelow, type ScanTarget, Snapshot, type SnapshotDir } from './snapshot.ts'

const trace = debuglog('inotify-bridge')

export interface ScannerParts {
  walker: TreeWalker
  tree: Tree
  rules: Rules
  /** Whether every file that is polled is read through. */
  hash: boolean
  clock: Pick<Clock, 'now'>
  inotify: WatchingSource
  sourceChoice: Pick<SourceChoice, 'chooseBelow'>
}

/** What is left out of a snapshot, since all is known of it. */
export interface LeftOut extends Taker {
  /** Another walk begins: the ids of listings count from 0 again. */
  begin(): void
  /** One that was left out, by the id of its listing. */
  directoryOf(id: number): Directory | undefined
  /** Whether this one was. */
  has(directory: Directory): boolean
}

export interface ScanOptions {
  /** It adds no watch, looks neither where links lead nor what begins at mount points, and may leave out what is as it was. */
  isPoll?: boolean
  /** Every entry is looked at. */
  statAll?: boolean
  /** ms since the epoch: where no stat is kept, what has not changed since then is told as if it had not been looked at. */
  since?: number
  leftOut?: LeftOut | undefined
  /** Of each directory, as soon as it is found. True: it has been seen to. */
  found?: ((listing: Listing) => boolean) | undefined
  /** Now and then. */
  progress?: (() => void) | undefined
}

/**
 * Sends the walker through directories, and into what comes up on its way: other mounts, symlinks that are followed and, where something is
 * ignored, one level after another, since only JavaScript knows what that is. It owns a walker, and changes nothing that is believed.
 */
export class Scanner {
  readonly #parts: ScannerParts

  constructor(parts: ScannerParts) {
    this.#parts = parts
  }

  /** What is in these directories now, and in all that lies below them. */
  async scan(directories: readonly Directory[], options: ScanOptions): Promise<Snapshot> {
    const { isPoll, leftOut } = options
    const snapshot = this.begin(isPoll !== true, leftOut)
    const targets = directories.map((directory) => this.target(snapshot, directory))
    await this.extend(snapshot, targets, options)
    return snapshot
  }

  /** Nothing has been scanned yet. */
  begin(isResolved = true, leftOut?: LeftOut): Snapshot {
    const { rules, clock } = this.#parts
    return new Snapshot(rules, clock.now(), isResolved, leftOut)
  }

  /** What a walk by these directories' requests has found. */
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

  /** Adds to a snapshot what is at these places, and what comes up there. */
  async extend(snapshot: Snapshot, targets: readonly ScanTarget[], options: ScanOptions): Promise<void> {
    const { walker } = this.#parts
    // What goes level by level takes a walk for each.
    walker.hold()
    try {
      await this.#walk(snapshot, targets, options)
    } finally {
      walker.release()
    }
  }

  async #walk(snapshot: Snapshot, targets: readonly ScanTarget[], options: ScanOptions): Promise<void> {
    const { walker, inotify } = this.#parts
    const { leftOut } = options
    for (let next = targets; next.length > 0; ) {
      const fresh: SnapshotDir[] = []
      const take = (listing: Listing) => {
        if (options.found?.(listing)) return
        const { parent } = listing
        const above = parent === undefined || snapshot.has(parent) ? undefined : leftOut?.directoryOf(parent)
        if (parent !== undefined && above !== undefined) this.#adopt(snapshot, parent, above)
        const found = snapshot.take(listing)
        if (found !== undefined && this.#mayLeadOn(found)) fresh.push(found)
        options.progress?.()
      }
      snapshot.begin(next)
      leftOut?.begin()
      const requests = next.map((target) => this.request(target, options))
      await walker.walk(requests, take, options.isPoll ? undefined : inotify.watching, leftOut)
      next = await this.#beyond(snapshot, fresh)
    }
  }

  /** What was left out has something in it that is not. */
  #adopt(snapshot: Snapshot, id: number, directory: Directory): void {
    const found = snapshot.wayTo(directory)
    found.way = this.placeOf(directory)
    snapshot.adopt(id, found)
  }

  /** What comes up in what is in a snapshot already. */
  async complete(snapshot: Snapshot, options: ScanOptions): Promise<void> {
    const fresh = snapshot.directories.filter((found) => this.#mayLeadOn(found))
    await this.extend(snapshot, await this.#beyond(snapshot, fresh), options)
  }

  /** How a directory is asked for. */
  requestFor(directory: Directory, options: ScanOptions): WalkRequest {
    return this.request(this.target(this.begin(), directory), options)
  }

  request(
    { place, mount, names, isLook }: ScanTarget,
    { isPoll, statAll, since = Number.POSITIVE_INFINITY }: ScanOptions,
  ): WalkRequest {
    const { recursive, hidesSome } = this.#parts.rules
    const hash = this.#parts.hash && mount.usesPolling
    if (names !== undefined) return { ...place, hash, names: [...names] }
    const isWhole = recursive && !hidesSome && isLook !== true
    if (isPoll) return { ...place, recursive: isWhole, stat: true, compare: true, hash }
    // Below a directory that has a watch, one may be polled for want of one.
    const isKept = mount.usesPolling || mount.leftover.size > 0 || isLook === true
    const stat = isKept || statAll === true
    const request = { ...place, recursive: isWhole, watch: mount.usesInotify, stat, hash }
    return statAll && !isKept && since !== Number.POSITIVE_INFINITY ? { ...request, since } : request
  }

  /** How to get to a directory that is believed in: from its root, or from the link that leads there. */
  placeOf(directory: Directory): Place {
    const names: string[] = []
    let base = directory
    for (; base.parent !== undefined && !isLinkBase(base); base = base.parent) names.push(base.name)
    const rel = names.reverse().join('/')
    const root = this.#parts.tree.pathOf(base)
    const parentIno = base === directory ? 0 : (directory.parent?.ino ?? 0)
    return parentIno === 0 ? { root, rel } : { root, rel, parentIno }
  }

  /** Most listings lead to nothing that is not listed as well. */
  #mayLeadOn({ listing, target }: SnapshotDir): boolean {
    const { hidesSome, followsLinks } = this.#parts.rules
    return hidesSome || followsLinks || target !== undefined || listing?.isBoundary === true
  }

  /** What is to be scanned next. */
  async #beyond(snapshot: Snapshot, fresh: readonly SnapshotDir[]): Promise<ScanTarget[]> {
    const targets: ScanTarget[] = []
    const links: Array<[at: SnapshotDir, name: string]> = []
    for (const found of fresh) {
      if (isOnOtherMount(found)) {
        const target = snapshot.isResolved ? await this.#cross(snapshot, found) : undefined
        if (target !== undefined) targets.push(target)
      } else if (found.isRead) {
        targets.push(...this.#levelBelow(found))
        if (!snapshot.isResolved) continue
        found.links = this.#linksIn(found)
        for (const name of found.links) links.push([found, name])
      }
    }
    if (links.length > 0) targets.push(...(await this.#follow(links)))
    return targets
  }

  *#levelBelow(found: SnapshotDir): Generator<ScanTarget> {
    const { recursive, hidesSome } = this.#parts.rules
    const isLook = found.target?.isLook === true
    if (!recursive || !(hidesSome || isLook)) return
    const { place, listing, mount } = found
    for (const [name, entry] of found.entries) {
      if (entry.kind !== 'directory' || !found.covers(name)) continue
      if (isLook && this.#isAsBelieved(found, name, entry)) continue
      yield { place: placeBelow(place, name, listing?.ino), name, parent: found, mount, isBase: false }
    }
  }

  #linksIn(found: SnapshotDir): string[] {
    if (!this.#parts.rules.followsLinks) return []
    const links = [...found.entries].filter(([name, { kind }]) => kind === 'symlink' && found.covers(name))
    return links.map(([name]) => name)
  }

  /** Whether a directory is known, watched and listed: then events tell of what is in it. */
  #isAsBelieved(found: SnapshotDir, name: string, entry: Entry): boolean {
    const known = this.#believedIn(found, name)
    if (known === undefined || isLinkBase(known) || !known.isListed || isUnwatched(known)) return false
    return mayBeSame(known, entry)
  }

  #believedAt(found: SnapshotDir): Directory | undefined {
    if (found.listing === undefined) return found.match
    const { parent, name, target } = found
    return target?.requested ?? (parent && this.#believedIn(parent, name))
  }

  #believedIn(found: SnapshotDir, name: string): Directory | undefined {
    const directory = this.#believedAt(found)
    const known = directory && this.#parts.tree.entriesOf(directory).get(name)
    return known instanceof Directory ? known : undefined
  }

  /** Another mount has its own source. */
  async #cross(snapshot: Snapshot, found: SnapshotDir): Promise<ScanTarget | undefined> {
    const { parent, name, place, listing } = found
    // A link that leads elsewhere than a moment ago is looked at again.
    if (parent === undefined || listing === undefined || found.mount.isLinked) return undefined
    const { mountId } = listing
    const target = { place, name, parent }
    // Unmounted: what was beneath is there again.
    if (mountId === (parent.listing?.mountId ?? parent.mount.mountId))
      return { ...target, mount: parent.mount, isBase: false }
    const known = this.#believedAt(found)
    const isKnown = known?.mount.base === known && known?.mount.isLinked === false
    if (isKnown && known?.mount.mountId === mountId)
      return { ...target, mount: known.mount, isBase: true, requested: known }
    const { sourceChoice } = this.#parts
    const refuse = (error: Error) => ({ refused: error })
    const choice = await sourceChoice.chooseBelow(found.path).catch(refuse)
    if ('refused' in choice) {
      trace('%s: not watched: %s', found.path, choice.refused)
      snapshot.refuse(parent, { name, ino: listing.ino, error: choice.refused })
      return undefined
    }
    trace('%s: %s, because %s', found.path, choice.backend, choice.why)
    return { ...target, mount: new WatchedMount(choice.backend, choice.why, mountId), isBase: true }
  }

  /** What symlinks lead to takes their places, unless it is no directory, or one that the link lies in. */
  async #follow(links: ReadonlyArray<[at: SnapshotDir, name: string]>): Promise<ScanTarget[]> {
    const requests = links.map(([at, name]) => ({ root: at.pathTo(name), rel: '', names: [] }))
    const ends: Array<Pick<Listing, 'ino' | 'mountId'>> = []
    await this.#parts.walker.walk(requests, ({ id, error, isShort, ino, mountId }) => {
      // That says nothing of where it leads.
      if (isShort) throw openError(error, textOf(requests[id]?.root ?? ''))
      if (error === 0) ends[id] = { ino, mountId }
    })
    const targets: ScanTarget[] = []
    for (const [i, [at, name]] of links.entries()) {
      const end = ends[i]
      if (end === undefined || isCycle(at, end)) continue
      const place = { root: at.pathTo(name), rel: '' }
      const target = { place, name, parent: at, isBase: true }
      const known = this.#believedIn(at, name)
      const isSame = known !== undefined && isLinkBase(known) && known.ino === end.ino
      if (isSame && known.mount.mountId === end.mountId) {
        targets.push({ ...target, mount: known.mount, requested: known })
        continue
      }
      const choice = await this.#parts.sourceChoice.chooseBelow(place.root).catch(() => undefined)
      if (choice === undefined || 'refused' in choice) continue
      targets.push({
        ...target,
        mount: new WatchedMount(choice.backend, choice.why, end.mountId, true),
      })
    }
    return targets
  }
}

/** Whether another mount has begun here, or the one that did is gone. */
export function isOnOtherMount({ listing, parent, mount, isBase }: SnapshotDir): boolean {
  if (listing === undefined || parent === undefined) return false
  if (listing.isBoundary) return true
  const expected = isBase || parent.listing === undefined ? mount.mountId : parent.listing.mountId
  return listing.error === 0 && listing.mountId !== expected
}

function isCycle(at: SnapshotDir, end: Pick<Listing, 'ino' | 'mountId'>): boolean {
  const isEnd = (ino: number, mountId: number) => ino === end.ino && mountId === end.mountId
  let found: SnapshotDir | undefined = at
  for (; found?.listing !== undefined; found = found.parent) {
    if (isEnd(found.listing.ino, found.listing.mountId)) return true
  }
  for (let each = found?.match; each !== undefined; each = each.parent) {
    if (isEnd(each.ino, each.mount.mountId)) return true
  }
  return false
}
