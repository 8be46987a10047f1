import { CLOCK_SLACK_MS } from '../clock.ts'
import { alteration, type Entry, mayBeChangedSince, mayBeSame, UNLIKE_ANY } from '../scan/entry.ts'
import { withoutStats } from '../scan/packed_entries.ts'
import { keepsStat } from '../tree/believed_entry.ts'
import { Directory, isLinkBase } from '../tree/directory.ts'
import type { Located } from '../tree/tree_editor.ts'
import type { Diff } from './diff.ts'
import { type Move, matchArrivals } from './match_moves.ts'
import type { Refusal } from './snapshot/snapshot.ts'
import type { SnapshotDir } from './snapshot/snapshot_dir.ts'

/** Finds how a snapshot differs from the tree. It moves nothing: it packs new directories as found, marks doubted times, and marks what it has looked at. */
export class Comparison {
  readonly #diff: Diff
  readonly #all: readonly SnapshotDir[]
  // ms since the epoch, for directories polled for want of a watch: all changes before have been reported.
  readonly #sinces = new Map<Directory, number>()
  /** Entries that are new, or not where they were: each directory before those found in it. */
  readonly moves: Move[] = []
  /** Entries that are not where they were. No listing says where a directory among them is. */
  readonly gone: Located[] = []
  readonly altered: Array<[directory: Directory, name: string, before: Entry, after: Entry]> = []
  /** Directories that are where they were, with their entries in the parent's listing: that tells all there is to tell. */
  readonly unlisted: Array<[directory: Directory, entry: Entry]> = []

  constructor(diff: Diff, all: readonly SnapshotDir[]) {
    this.#diff = diff
    this.#all = all
  }

  run(refusals: readonly Refusal[]): void {
    const { options, tree } = this.#diff
    for (const found of this.#all) {
      const names = found.match && options.eventNames?.get(found.match)
      if (names !== undefined) found.except = names
      if (options.isPartial || found.target?.isLook) this.#keepUnlisted(found)
    }
    for (const found of this.#all) {
      this.#compare(found)
      tree.trim()
    }
    for (const refusal of refusals) this.#arriveRefused(refusal)
    const lost = this.#all.flatMap((found) => this.#lostIn(found))
    const mayBeFound = this.moves.some(({ entry }) => !(entry instanceof Directory))
    for (const directory of mayBeFound ? lost : []) this.#searchLost(directory)
    matchArrivals(this.moves, this.gone, options.since)
    for (const entry of lost)
      this.gone.push({ directory: entry.parent as Directory, name: entry.name, entry })
  }

  /** Returns ms since the epoch: all changes in a directory before have been reported. */
  since(directory: Directory): number {
    const { source, since } = this.#diff.options
    const { mount, wd } = directory
    // Only a directory above is polled: events report writes here. One watched while unreadable is polled until read.
    if (source === 'poll' && !mount.usesPolling && wd > 0 && !mount.leftover.has(directory))
      return Number.POSITIVE_INFINITY
    return this.#sinces.get(directory) ?? since
  }

  /**
   * Keeps the subdirectories that have no listing of their own as they were, but for what their parent's listing says of them: a poll leaves out
   * unchanged directories, and a look goes into no watched ones.
   */
  #keepUnlisted(found: SnapshotDir): void {
    const { match, target } = found
    if (match === undefined || !found.isRead) return
    for (const directory of match.subdirectories()) {
      if (this.#diff.matching.isFound(directory)) continue
      const entry = found.entries.get(directory.name)
      const isSeen = entry !== undefined && mayBeSame(directory, entry) && !isLinkBase(directory)
      if (target?.isLook && !isSeen) continue
      this.#diff.matching.keep(directory)
      // A base is reported by its own listing, and a name that events are about by these.
      const isOurs = directory.mount === match.mount && found.covers(directory.name)
      if (entry !== undefined && isOurs) this.unlisted.push([directory, entry])
    }
  }

  /** Collects a directory's entries that are new, gone or altered. */
  #compare(found: SnapshotDir): void {
    const { match, listing } = found
    if (match === undefined || listing === undefined) return
    this.#noteMoved(found, match)
    if (!found.isRead) return
    const toldUntil = match.mount.leftover.get(match)
    if (toldUntil !== undefined) this.#sinces.set(match, toldUntil - CLOCK_SLACK_MS)
    const isListing = found.target?.names === undefined
    // A directory that could not be read to its end before has some entries, from events or from that part.
    if (isListing && !match.isListed && match.isEmpty) {
      found.isNew = true
      if (!this.#isPackable(found))
        for (const [name, entry] of found.entries) this.#arrive(found, name, entry, undefined)
      else if (listing.filesCount > 0) match.takePacked(listing.packedFiles)
      return
    }
    const doubtedSince = this.#doubtedSince(match)
    const { recursive, hidesSome, followsLinks } = this.#diff.rules
    // Directories that the scan does not go into are entries like all others, and have no listing of their own.
    const isAll = isListing && recursive && !hidesSome && !followsLinks
    const isTrusted = doubtedSince === Number.POSITIVE_INFINITY || !listing.hasFilesSince(doubtedSince)
    if (isAll && listing.filesCount > 0 && isTrusted && match.isPackedAs(listing.packedFiles)) {
      // All is as it was. The saved stats are dropped, if none is to be kept.
      if (this.#diff.options.isSaved && !keepsStat(match)) match.takePacked(withoutStats(listing.packedFiles))
      return
    }
    this.#doubt(match, doubtedSince)
    const before = this.#diff.tree.entriesOf(match)
    for (const [name, entry] of before) {
      if (entry instanceof Directory || !found.covers(name)) continue
      const now = found.entries.get(name)
      if (now === undefined) {
        // An entry that has left is reported by its arrival.
        if (this.#diff.pending.moves.from(match, name) === undefined)
          this.gone.push({ directory: match, name, entry })
      } else if (this.#isDirectory(found, name, now)) {
        // The scan did not go into it until now: it makes way for the directory found there, if one was.
        if (entry.kind !== 'directory') this.gone.push({ directory: match, name, entry })
      } else if (!mayBeSame(entry, now)) {
        if (!this.#isLeftToEvents(found, match, entry, now)) this.gone.push({ directory: match, name, entry })
      } else if (!this.#isLeftToEvents(found, match, entry, now)) this.altered.push([match, name, entry, now])
    }
    for (const [name, entry] of found.entries) {
      if (found.covers(name)) this.#arrive(found, name, entry, before.get(name))
    }
  }

  #noteMoved({ name, parent, isBase, isMade }: SnapshotDir, match: Directory): void {
    const to = parent?.match
    if (parent === undefined || to === undefined || (match.parent === to && match.name === name)) return
    const from = match.parent && { directory: match.parent, name: match.name, entry: match }
    const base =
      isMade && isBase ? { link: match.mount.isLinked ? parent.entries.get(name) : undefined } : undefined
    this.moves.push({ to, name, entry: match, from, isFree: parent.isNew, base, isDone: false })
  }

  /**
   * Returns ms since the epoch: known times from then on are in doubt. If events were lost, a file changed after the last moment up to which all was reported
   * may have been written again after the look, within the same tick of the clock that stamps it.
   */
  #doubtedSince(directory: Directory): number {
    const { statAll, since } = this.#diff.options
    if (!statAll || since === 0 || !keepsStat(directory)) return Number.POSITIVE_INFINITY
    return Math.max(this.since(directory), directory.mount.toldUntil - CLOCK_SLACK_MS)
  }

  #doubt(directory: Directory, since: number): void {
    if (since === Number.POSITIVE_INFINITY) return
    for (const [name, entry] of this.#diff.tree.entriesOf(directory)) {
      const { stat } = entry
      if (entry instanceof Directory || stat === undefined || !mayBeChangedSince(stat, since)) continue
      this.#diff.editor.update(directory, name, { ...entry, stat: { ...stat, mtime: UNLIKE_ANY } })
    }
  }

  /** Returns true if a new directory can be taken into the tree as the walker packed it, as nothing of it is to be reported. */
  #isPackable({ mount, refused, bases }: SnapshotDir): boolean {
    const { baseline, statAll } = this.#diff.options
    const { recursive, hidesSome, followsLinks } = this.#diff.rules
    if (!baseline || !recursive || hidesSome || followsLinks || refused || bases) return false
    return mount.usesPolling || !statAll
  }

  /**
   * Returns true if a look leaves a changed file to others: a look after an event is about which entries there are; other events report writes, or a poll. A look that stands for a poll does not.
   * (Without a poll another file than the known one is reported: the events of the name may have been about the one before.)
   */
  #isLeftToEvents(found: SnapshotDir, { mount }: Directory, before: Entry, now: Entry): boolean {
    const isLook = found.target?.isLook === true && this.#diff.options.source !== 'poll'
    const isFile = before.kind === now.kind && now.kind !== 'directory'
    return isLook && isFile && mount.usesInotify && mount.usesPolling
  }

  /** Returns true if the scan goes into the directory found at a name: then it has a listing of its own. */
  #isDirectory({ refused, bases }: SnapshotDir, name: string, { kind }: Entry): boolean {
    if (bases?.has(name)) return true
    return kind === 'directory' && this.#diff.rules.recursive && refused?.has(name) !== true
  }

  /** Takes in a refused mount, whose parent may have been taken in before the refusal was known. */
  #arriveRefused({ parent, name, ino }: Refusal): void {
    if (this.#all.includes(parent) || parent.match === undefined) return
    const known = this.#diff.tree.entriesOf(parent.match).get(name)
    this.#arrive(parent, name, { kind: 'directory', ino }, known)
  }

  #arrive(at: SnapshotDir, name: string, entry: Entry, known: Entry | undefined): void {
    if (this.#isDirectory(at, name, entry)) return
    const { rules, snapshot } = this.#diff
    // The scan has not looked where the link leads.
    if (entry.kind === 'symlink' && rules.followsLinks && !snapshot.isResolved) {
      this.#arriveUnresolved(at, name, entry, known)
      return
    }
    if (known !== undefined && !(known instanceof Directory) && mayBeSame(known, entry)) return
    const to = at.match
    if (to !== undefined)
      this.moves.push({ to, name, entry, from: undefined, isFree: at.isNew, isDone: false })
  }

  #arriveUnresolved(at: SnapshotDir, name: string, entry: Entry, known: Entry | undefined): void {
    if (known instanceof Directory && isLinkBase(known)) {
      this.#diff.matching.keep(known)
      if (known.mount.isLink(entry)) return
    } else if (known && mayBeSame(known, entry) && alteration(known, entry, 0) === undefined) return
    if (at.match !== undefined) this.#diff.pending.work.look(at.match, name)
  }

  /** Adds the entries in a lost directory to those that are gone: they may have been found elsewhere. */
  #searchLost(lost: Directory): void {
    for (const directory of this.#diff.tree.within(lost)) {
      this.#doubt(directory, this.#doubtedSince(directory))
      for (const [name, entry] of this.#diff.tree.entriesOf(directory)) {
        const isFound = this.#diff.matching.isFound(directory)
        if (!isFound && !(entry instanceof Directory)) this.gone.push({ directory, name, entry })
      }
      this.#diff.tree.trim()
    }
  }

  #lostIn(found: SnapshotDir): Directory[] {
    const { matching, snapshot, pending } = this.#diff
    const { match } = found
    if (match === undefined || !found.isRead || found.isNew) return []
    return [...match.subdirectories()].filter((directory) => {
      const { name } = directory
      const isThere = matching.isKept(directory) || snapshot.leftOut?.has?.(directory)
      if (isThere || matching.isFound(directory)) return false
      return found.covers(name) && pending.moves.from(match, name) === undefined
    })
  }
}
