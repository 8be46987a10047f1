import { CLOCK_SLACK_MS } from '../clock.ts'
import type { Change } from '../report/change.ts'
import { keepsStat } from '../tree/believed_entry.ts'
import { type Directory, isUnwatched, isWithin } from '../tree/directory.ts'
import { TreeEditor } from '../tree/tree_editor.ts'
import { Alterations } from './alterations.ts'
import { Comparison } from './comparison.ts'
import type { Diff } from './diff.ts'
import { EditScript } from './edit_script.ts'
import { Identification } from './identify.ts'
import { MoveMatcher } from './match_moves.ts'
import type { SnapshotDir } from './snapshot/snapshot_dir.ts'

/**
 * Compares a snapshot with the tree, when both are whole: only then is it known what has moved from where to where. The changes lead from the tree
 * to the snapshot; within the directories scanned, the tree then is what was found.
 *
 * @returns the changes in the order in which they are to be reported: each can be applied alone
 */
export function reconcile(given: Omit<Diff, 'matching' | 'editor'>): Change[] {
  const { tree, options } = given
  const editor = new TreeEditor(tree, options.source, options.baseline)
  const matching = new MoveMatcher(tree, options)
  return new Reconciliation({ ...given, matching, editor }).run()
}

class Reconciliation {
  readonly #diff: Diff
  /** The directories to be compared, parents first. */
  readonly #all: readonly SnapshotDir[]
  readonly #comparison: Comparison
  readonly #alterations: Alterations
  readonly #script: EditScript

  constructor(diff: Diff) {
    this.#diff = diff
    this.#all = new Identification(diff).identify()
    this.#comparison = new Comparison(diff, this.#all)
    this.#alterations = new Alterations(diff)
    this.#script = new EditScript(diff, this.#alterations)
  }

  run(): Change[] {
    const refusals = this.#diff.snapshot.takeRefusals()
    // While a directory could not be read, a root in it reported itself.
    for (const { match, listing, isRead } of this.#all) {
      if (isRead && match?.isListed === false) this.#diff.editor.enter(match)
      if (match !== undefined && listing !== undefined)
        this.#diff.status.expect(match, listing, this.#diff.snapshot.startedAt)
    }
    this.#comparison.run(refusals)
    this.#script.run(this.#comparison.moves, this.#comparison.gone)
    for (const found of this.#all) this.#cover(found)
    for (const { parent, name, error } of refusals) {
      const { match } = parent
      if (match !== undefined && this.#diff.tree.isAttached(match))
        match.mount.refused.put(match, name, error)
    }
    this.#alter()
    return this.#diff.editor.take()
  }

  /** Notes which watch a directory has now, and what there is to do in it. */
  #cover(found: SnapshotDir): void {
    const { tree, pending, options, snapshot, status } = this.#diff
    const { match, listing } = found
    if (listing === undefined || listing.isUnchanged) return
    if (match === undefined || !tree.isAttached(match)) {
      tree.disown(listing.wd)
      return
    }
    // A look at names adds no watch.
    const isListing = found.target?.names === undefined
    if (isListing) {
      const stale = this.#otherWith(listing.wd, match)
      const untoldSince = this.#untoldSince(match, listing.error === 0)
      if (status.cover(match, listing, untoldSince + CLOCK_SLACK_MS)) pending.failed.list(match, untoldSince)
      // The shortage may pass in a moment.
      if (listing.isShort) pending.work.list(match)
      if (stale !== undefined) this.#displace(stale, match)
    }
    if (found.isRead && isListing) {
      match.isListed = true
      match.ino = listing.ino
      // No time tells that a directory with this name has another mode: it may have been made with that mode.
      if (options.matchByName && match.stat === undefined && !found.isMade)
        found.hasOtherOwner = match.owner !== listing.ownerKey
      match.owner = listing.ownerKey
      if (match.mount.base === match) match.mount.identity = listing.identity
      // Names that events are about were not compared.
      if (match.mount.leftover.has(match) && found.except.size === 0)
        match.mount.leftover.set(match, snapshot.startedAt)
      // A poll takes in the events reported after its listing, and leaves out the names that they are about.
      if (options.source !== 'poll' && !found.target?.isLook) this.#noteScan(found, match)
    }
    // Found by a poll, which adds no watch.
    if (isUnwatched(match)) pending.work.list(match)
    // Before the first listing nothing is known of the ends of links.
    const { baseline, isToldLater, isSaved, since: savedAt } = options
    const listedAt = baseline && !isToldLater ? Number.POSITIVE_INFINITY : snapshot.startedAt
    // Nothing was saved of the end of a link, if that is no directory.
    const since = isSaved ? savedAt : listedAt
    for (const [name, end] of found.links ?? []) {
      pending.work.follow(match, name, since)
      if (end === 'unanswered') pending.failed.follow(match, name, since)
      if (end instanceof Error) match.mount.refused.put(match, name, end)
      else match.mount.refused.take(match, name)
    }
  }

  /** Returns ms since the epoch: writes from then on may be unreported, by events and by listings, in a directory that could not be listed or has no watch. */
  #untoldSince({ isListed }: Directory, isRead: boolean): number {
    const { statAll, since } = this.#diff.options
    if (isRead && (statAll || !isListed)) return this.#diff.snapshot.startedAt - CLOCK_SLACK_MS
    return statAll ? since : this.#diff.pending.consistentUntil - CLOCK_SLACK_MS
  }

  /** Notes that an event may be older than this listing; for a new base, older than all that is new in its mount. */
  #noteScan({ isNew }: SnapshotDir, match: Directory): void {
    const { mount } = match
    if (mount.base === match && isNew) this.#diff.pending.scans.add(mount)
    else if (!isNew || !this.#diff.pending.scans.has(mount)) this.#diff.pending.scans.add(match)
  }

  #otherWith(wd: number, directory: Directory): Directory | undefined {
    if (wd <= 0) return undefined
    return this.#diff.tree.at(wd).find((other) => other !== directory && other.mount === directory.mount)
  }

  // A directory has one place in a mount. If the wd says that this one was known elsewhere, that place is out of date:
  // its event is on the way, or was lost.
  #displace(stale: Directory, directory: Directory): void {
    const { parent, name } = stale
    if (parent === undefined) return
    // No event may be left to tell what is at that place.
    this.#diff.pending.rechecks.add(parent, name)
    if (!isWithin(directory, stale)) this.#script.delete({ directory: parent, name, entry: stale })
  }

  #alter(): void {
    const comparison = this.#comparison
    for (const found of this.#all) this.#alterDirectory(found)
    for (const [directory, entry] of comparison.unlisted)
      this.#alterations.tellDirectory(directory, entry, comparison.since(directory.parent ?? directory))
    for (const [directory, name, before, after] of comparison.altered) {
      this.#alterations.tell(directory, name, before, after, comparison.since(directory))
    }
  }

  #alterDirectory(found: SnapshotDir): void {
    const { match, asEntry, listing } = found
    if (match?.parent === undefined || !this.#diff.tree.isAttached(match)) return
    // The parent's listing tells of a directory in place. One that was not saved was reported as new.
    const hasMoved = this.#script.hasPlaced(match) && !found.isMade
    const isTold =
      hasMoved || (this.#diff.options.isSaved && found.isNew) || found.hasOtherOwner !== undefined
    const since = isTold ? Number.POSITIVE_INFINITY : this.#comparison.since(match.parent)
    if (found.hasOtherOwner) this.#diff.editor.alter('attrib', match.parent, match.name, match)
    else if (asEntry !== undefined) this.#alterations.tellDirectory(match, asEntry, since)
    else if (keepsStat(match.parent)) match.stat ??= listing?.owner
  }
}
