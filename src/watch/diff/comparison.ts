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

/** What of that which is believed was not found as it is believed, and what was found besides. It moves nothing: it packs what is new as it was found, says which times are not to be believed, and marks what it has looked at. */
export class Comparison {
  readonly #diff: Diff
  readonly #all: readonly SnapshotDir[]
  // Of what is polled for want of a watch: all that was done before has been told.
  readonly #sinces = new Map<Directory, number>()
  /** Entries that are new, or not where they were: each directory before those found in it. */
  readonly moves: Move[] = []
  /** Entries that are not where they were. No listing says where a directory among them is. */
  readonly gone: Located[] = []
  readonly altered: Array<[directory: Directory, name: string, before: Entry, after: Entry]> = []
  /** Directories that are where they were, and of which their parent's listing tells all there is to tell. */
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

  /** ms since the epoch: what was done in a directory before has been told. */
  since(directory: Directory): number {
    const { source, since, comparedSince } = this.#diff.options
    const { mount, wd } = directory
    // What is polled lies above it: of what is written in there, its events tell. But one that got its watch when it could not be read is polled until it is.
    if (source === 'poll' && !mount.usesPolling && wd > 0 && !mount.leftover.has(directory))
      return Number.POSITIVE_INFINITY
    return this.#sinces.get(directory) ?? comparedSince?.get(directory) ?? since
  }

  /**
   * What is in a directory and has no listing of its own is as it was, but for what the directory's listing says of it: a poll leaves out what
   * has not changed, and a look goes into nothing that is watched.
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
      // Where another mount begins, or a link leads, its own listing tells; and of what events speak, they.
      const isOurs = directory.mount === match.mount && found.covers(directory.name)
      if (entry !== undefined && isOurs) this.unlisted.push([directory, entry])
    }
  }

  /** What of a directory's entries is not where it was, and what is altered. */
  #compare(found: SnapshotDir): void {
    const { match, listing } = found
    if (match === undefined || listing === undefined) return
    this.#noteMoved(found, match)
    if (!found.isRead) return
    const toldUntil = match.mount.leftover.get(match)
    if (toldUntil !== undefined) this.#sinces.set(match, toldUntil - CLOCK_SLACK_MS)
    const isListing = found.target?.names === undefined
    // Where it could not be read to its end before, events or that part of it have told of some.
    if (isListing && !match.isListed && match.isEmpty) {
      found.isNew = true
      if (!this.#pack(found))
        for (const [name, entry] of found.entries) this.#arrive(found, name, entry, undefined)
      return
    }
    const doubtedSince = this.#doubtedSince(match)
    const { recursive, hidesSome, followsLinks } = this.#diff.rules
    // Where directories are not gone into, they are entries as all others, and no listing of their own tells that they are there.
    const isAll = isListing && recursive && !hidesSome && !followsLinks
    const isTrusted = doubtedSince === Number.POSITIVE_INFINITY || !listing.hasFilesSince(doubtedSince)
    if (isAll && listing.filesCount > 0 && isTrusted && match.isPackedAs(listing.packedFiles)) {
      // All is as it was. Of what was saved no more is kept than is needed.
      if (this.#diff.options.isSaved && !keepsStat(match)) match.takePacked(withoutStats(listing.packedFiles))
      return
    }
    this.#doubt(match, doubtedSince)
    const before = this.#diff.tree.entriesOf(match)
    for (const [name, entry] of before) {
      if (entry instanceof Directory || !found.covers(name)) continue
      const now = found.entries.get(name)
      if (now === undefined) {
        // Where what has left is, its arrival tells.
        if (this.#diff.pending.moves.from(match, name) === undefined)
          this.gone.push({ directory: match, name, entry })
      } else if (this.#isDirectory(found, name, now)) {
        // Until now it was not gone into: it makes way for what was found there, if anything was.
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
   * Where events were lost, a file that was changed since the last moment up to which all had been told may have been written again after it was looked
   * at, within the same tick of the clock that stamps it. So its times are as good as others.
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

  /** Whether a directory, of which nothing is believed and nothing is told, is taken as it was found. */
  #pack(found: SnapshotDir): boolean {
    if (!this.#isPackable(found)) return false
    const { match, listing } = found
    if (match !== undefined && listing !== undefined && listing.filesCount > 0)
      match.takePacked(listing.packedFiles)
    return true
  }

  #isPackable({ mount, refused, bases }: SnapshotDir): boolean {
    const { baseline, statAll } = this.#diff.options
    const { recursive, hidesSome, followsLinks } = this.#diff.rules
    if (!baseline || !recursive || hidesSome || followsLinks || refused || bases) return false
    return mount.usesPolling || !statAll
  }

  /**
   * A look after an event is about what there is: what is written, other events tell, or a poll if there is one. (Where there is none, another
   * file than was believed is told: what was told of the name may have been about the one before.)
   */
  #isLeftToEvents(found: SnapshotDir, { mount }: Directory, before: Entry, now: Entry): boolean {
    const isLook = found.target?.isLook === true
    const isFile = before.kind === now.kind && now.kind !== 'directory'
    return isLook && isFile && mount.usesInotify && mount.usesPolling
  }

  /** Whether what was found at a name is gone into: then it has a listing of its own. */
  #isDirectory({ refused, bases }: SnapshotDir, name: string, { kind }: Entry): boolean {
    if (bases?.has(name)) return true
    return kind === 'directory' && this.#diff.rules.recursive && refused?.has(name) !== true
  }

  /** What it lies in may have been taken in before it was known that it is refused. */
  #arriveRefused({ parent, name, ino }: Refusal): void {
    if (this.#all.includes(parent) || parent.match === undefined) return
    const known = this.#diff.tree.entriesOf(parent.match).get(name)
    this.#arrive(parent, name, { kind: 'directory', ino }, known)
  }

  #arrive(at: SnapshotDir, name: string, entry: Entry, known: Entry | undefined): void {
    if (this.#isDirectory(at, name, entry)) return
    if (this.#isUnresolved(entry)) {
      this.#arriveUnresolved(at, name, entry, known)
      return
    }
    if (known !== undefined && !(known instanceof Directory) && mayBeSame(known, entry)) return
    const to = at.match
    if (to !== undefined)
      this.moves.push({ to, name, entry, from: undefined, isFree: at.isNew, isDone: false })
  }

  /** Whether it is a link that is to be followed, and nobody has looked where it leads. */
  #isUnresolved({ kind }: Entry): boolean {
    return kind === 'symlink' && this.#diff.rules.followsLinks && !this.#diff.snapshot.isResolved
  }

  #arriveUnresolved(at: SnapshotDir, name: string, entry: Entry, known: Entry | undefined): void {
    if (known instanceof Directory && isLinkBase(known)) {
      this.#diff.matching.keep(known)
      if (known.mount.isLink(entry)) return
    } else if (known && mayBeSame(known, entry) && alteration(known, entry, 0) === undefined) return
    if (at.match !== undefined) this.#diff.pending.work.look(at.match, name)
  }

  /** What was in a directory that was not found may have been found elsewhere. */
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
      const isThere = matching.isKept(directory) || snapshot.hasLeftOut(directory)
      if (isThere || matching.isFound(directory)) return false
      return found.covers(name) && pending.moves.from(match, name) === undefined
    })
  }
}
