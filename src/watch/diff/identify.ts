import { mayPass } from '../report/watch_error.ts'
import type { Listing } from '../scan/listing.ts'
import type { Directory } from '../tree/directory.ts'
import type { Diff } from './diff.ts'
import { KnownPlaces } from './snapshot/known_places.ts'
import type { SnapshotDir } from './snapshot/snapshot_dir.ts'
import { twinsIn } from './twins.ts'

/** Finds the known directory for each directory of a snapshot. Changes nothing but inode numbers and the mount that a root lies on. */
export class Identification {
  readonly #diff: Diff
  readonly #places = new KnownPlaces()
  // Known directories that had moved when the walker came to them, or links that led elsewhere than a moment before.
  readonly #unread: Directory[] = []

  constructor(diff: Diff) {
    this.#diff = diff
  }

  /** Returns the directories that tell something, each with the known directory that it is, parents first. */
  identify(): SnapshotDir[] {
    const { snapshot, rules, tree } = this.#diff
    const twins = rules.followsLinks ? twinsIn(snapshot.directories) : undefined
    const all = snapshot.directories.filter((found) => {
      const isKept = !twins?.has(found) && this.#identify(found)
      // The wd stays if it belongs to another directory that is still to be found.
      if (!isKept) tree.disown(found.listing?.wd ?? 0)
      return isKept
    })
    for (const wd of snapshot.unclaimed.splice(0)) tree.disown(wd)
    this.#failUnread()
    return all
  }

  /**
   * Has directories listed again, with all below them, that the walk did not get into. A directory may have moved to where the walk had been already: the
   * event of its rename then fits the known tree, and writes in it whose events were lost would never be found.
   */
  #failUnread(): void {
    const { options, matching, pending } = this.#diff
    // The next poll goes everywhere.
    if (options.source === 'poll') return
    // Saved entries may be in doubt from any moment on.
    const since = options.isSaved ? 0 : options.since
    for (const each of this.#unread) if (!matching.isFound(each)) pending.failed.list(each, since)
  }

  /** Returns true if a directory is to be compared. */
  #identify(found: SnapshotDir): boolean {
    const { snapshot, matching } = this.#diff
    const requested = found.target?.requested
    if (requested !== undefined) {
      if (!this.#diff.tree.isAttached(requested)) return false
      if (requested.parent === undefined) return this.#root(found, requested)
      // The directory may have been renamed since. One met in a listing is where that says, and may be another.
      if (found.parent?.listing === undefined) {
        found.parent = matching.foundAs(requested.parent) ?? snapshot.wayTo(requested.parent)
        found.name = requested.name
      }
    }
    const { parent } = found
    if (parent?.match === undefined) return false
    if (isLinkEnd(found) && parent.isRead && parent.covers(found.name)) {
      // The entry at this name is no link any more, and has a listing of its own.
      if (parent.entries.get(found.name)?.kind !== 'symlink') return false
      // The scan does not follow the link: it may have come to lie in the directory that it leads to.
      if (snapshot.isResolved && parent.bases?.has(found.name) !== true) return false
    }
    // All is known of a directory that was adopted before.
    if (parent.listing === undefined && !this.#diff.tree.isAttached(parent.match)) return false
    return found.target?.isLook === true && requested !== undefined
      ? this.#look(found, requested)
      : this.#below(parent, parent.match, found)
  }

  /** Identifies a root. The caller decides whether it is still the same directory. */
  #root(found: SnapshotDir, top: Directory): boolean {
    const { listing } = found
    if (listing === undefined) return false
    this.#diff.roots.set(top, listing)
    if (listing.error !== 0) return this.#failedRoot(found, top, listing)
    // Another directory by now: the caller that notices it compares all of it, and not the names that were looked at.
    if (found.target?.isLook && top.ino !== 0 && top.ino !== listing.ino) return false
    found.parent = undefined
    top.ino = listing.ino
    top.mount.mountId = listing.mountId
    this.#diff.matching.claim(top, found)
    return true
  }

  /** Keeps a watched root that cannot be read just now as the one it was. (A root that is lost, or still to come, is looked for again by others.) */
  #failedRoot(found: SnapshotDir, top: Directory, { error, ino }: Listing): boolean {
    if (!mayPass(-error) || !top.isListed || !this.#diff.tree.isPresent(top)) return false
    if (ino !== 0 && ino !== top.ino) return false
    for (const name of found.target?.names ?? []) this.#diff.pending.rechecks.add(top, name)
    found.parent = undefined
    this.#diff.matching.claim(top, found)
    return true
  }

  #look(found: SnapshotDir, directory: Directory): boolean {
    const { listing, target, parent } = found
    const isIt = listing?.error === 0 && (directory.ino === 0 || directory.ino === listing.ino)
    if (isIt) {
      this.#diff.matching.claim(directory, found)
      return true
    }
    for (const name of target?.names ?? []) this.#diff.pending.rechecks.add(directory, name)
    if (isLinkEnd(found) && parent?.match !== undefined)
      this.#leadsElsewhere(parent.match, found.name, directory)
    return false
  }

  /** Has a link looked at again: since the scan saw where it leads, another link may have taken its place, and lead to where it lies, or to another mount. */
  #leadsElsewhere(parent: Directory, name: string, known: Directory | undefined): void {
    this.#diff.pending.work.look(parent, name)
    if (known === undefined) return
    this.#diff.matching.keep(known)
    this.#unread.push(known)
  }

  /** Identifies a directory below another. @param directory the known directory of `parent` */
  #below(parent: SnapshotDir, directory: Directory, found: SnapshotDir): boolean {
    const { name, listing } = found
    const { work, rechecks } = this.#diff.pending
    if (listing === undefined) return false
    const known = this.#believedIn(directory, name, listing.ino)
    if (this.#isTouched(directory, name)) return false
    if (found.isOnOtherMount && !isLinkEnd(found)) {
      this.#meet(parent, directory, found, known)
      return false
    }
    if (listing.isGone) {
      if (known !== undefined) this.#onGone(parent, found, known)
      // No event reports where the end of a new link is by now.
      else if (isLinkEnd(found)) work.look(directory, name)
      // Nor one asked for by its path, if a directory above has moved. Events report one met in a listing.
      else if (found.target !== undefined) rechecks.add(directory, name)
      return false
    }
    // A directory that could not be opened just now has no inode number, and counts as the known one.
    const isUnseen = known !== undefined && listing.ino === 0 && mayPass(-listing.error)
    if (isLinkEnd(found) && !isUnseen && !isSeenEnd(found, listing, known)) {
      this.#leadsElsewhere(directory, name, known)
      return false
    }
    this.#diff.matching.match(found, known)
    return true
  }

  /** Keeps a vanished directory in doubt, unless its parent's listing shows that it was gone already. */
  #onGone(parent: SnapshotDir, found: SnapshotDir, known: Directory): void {
    const { name } = found
    if (parent.isRead && parent.covers(name) && !parent.entries.has(name)) return
    // A link that is followed leads nowhere any more; anything else has moved.
    if (isLinkEnd(found) && known.parent !== undefined) this.#diff.pending.work.look(known.parent, name)
    this.#keep(known)
    this.#unread.push(known)
  }

  /** Handles a directory where another mount begins. The mount's own listing reports it if it was scanned; otherwise it is looked at afterwards. */
  #meet(parent: SnapshotDir, directory: Directory, found: SnapshotDir, known: Directory | undefined): void {
    const { name, listing } = found
    if (parent.refused?.has(name) || parent.bases?.has(name)) return
    const isSame = known?.mount.base === known && known?.mount.mountId === listing?.mountId
    if (known !== undefined && isSame) this.#diff.matching.keep(known)
    else if (known !== undefined) this.#keep(known)
    if (!isSame) this.#diff.pending.work.look(directory, name)
  }

  #keep(directory: Directory): void {
    const { parent, name } = directory
    this.#diff.matching.keep(directory)
    if (parent !== undefined) this.#diff.pending.rechecks.add(parent, name)
  }

  #believedIn(parent: Directory, name: string, ino: number): Directory | undefined {
    const known = this.#places.at(parent, name)
    const isAnother =
      known !== undefined && known.ino !== ino && this.#diff.pending.moves.from(parent, name) !== undefined
    return isAnother ? undefined : known
  }

  #isTouched(directory: Directory, name: string): boolean {
    return this.#diff.options.eventNames?.get(directory)?.has(name) ?? false
  }
}

/** Returns true if it is the directory that the link was seen to lead to. */
function isSeenEnd(found: SnapshotDir, listing: Listing, known: Directory | undefined): boolean {
  if (found.isOnOtherMount) return false
  const leadsTo = found.target?.leadsTo
  if (leadsTo !== undefined) return listing.identity === leadsTo
  return known !== undefined && (known.mount.numbersPass || listing.ino === known.ino)
}

/** Returns true if it is the end of a followed symlink. */
function isLinkEnd({ isBase, mount }: SnapshotDir): boolean {
  return isBase && mount.isLinked
}
