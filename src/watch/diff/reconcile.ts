import { CLOCK_SLACK_MS } from '../clock.ts'
import type { Pending } from '../pending/pending.ts'
import type { Change } from '../report/change.ts'
import type { Rules } from '../rules.ts'
import { alteration, type Entry, mayBeSame } from '../scan/entry.ts'
import type { RootFinding } from '../scan/root_finding.ts'
import { Directory, isLinkBase, isUnwatched, keepsStat } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { TreeEditor } from '../tree/tree_editor.ts'
import { WatchStatus } from '../tree/watch_status.ts'
import type { DiffOptions } from './diff_options.ts'
import { EditScript } from './edit_script.ts'
import { Identification, type Identified } from './identify.ts'
import { MoveMatcher, matchArrivals } from './match_moves.ts'
import type { Added, Refusal, Removed, Snapshot, SnapshotDir } from './snapshot.ts'

// In place of a time: compared with any, it is another.
const UNLIKE_ANY = Number.NaN

export interface DiffContext {
  tree: Tree
  rules: Rules
  pending: Pending
  /** Where no watch is to be had, a poll does. */
  fallsBackToPolling: boolean
}

export interface Reconciled {
  /** In the order in which they are told: each can be applied alone. */
  changes: Change[]
  roots: Map<Directory, RootFinding>
  status: WatchStatus
  /** See {@link Identified.isIncomplete}. */
  isIncomplete: boolean
  /** If it is incomplete: the directories that were compared as a whole. */
  compared: Directory[]
}

/**
 * Holds what a scan has found against what is believed, when both are whole: only then is it known what has moved from where to where. The
 * changes lead from the one to the other; within what was scanned, the tree then is what was found.
 */
export function reconcile(context: DiffContext, snapshot: Snapshot, options: DiffOptions): Reconciled {
  return new Reconciliation(context, snapshot, options).run()
}

class Reconciliation {
  readonly #tree: Tree
  readonly #rules: Rules
  readonly #pending: Pending
  readonly #options: DiffOptions
  readonly #status: WatchStatus
  readonly #matching: MoveMatcher
  readonly #snapshot: Snapshot
  #all: readonly SnapshotDir[] = []
  #kept: Identified['kept'] = new Set()
  // Of what is polled for want of a watch: all that was done before has been told.
  readonly #sinces = new Map<Directory, number>()
  // Those of the kept ones of which their parent's listing tells all there is to tell.
  readonly #unlisted: Array<[directory: Directory, entry: Entry]> = []
  readonly #arrivals = new Map<SnapshotDir, Added[]>()
  readonly #gone: Removed[] = []
  readonly #altered: Array<[directory: Directory, name: string, before: Entry, after: Entry]> = []

  constructor(
    { tree, rules, pending, fallsBackToPolling }: DiffContext,
    snapshot: Snapshot,
    options: DiffOptions,
  ) {
    this.#snapshot = snapshot
    this.#tree = tree
    this.#rules = rules
    this.#pending = pending
    this.#options = options
    this.#status = new WatchStatus(tree, fallsBackToPolling, snapshot.startedAt)
    this.#matching = new MoveMatcher(tree, options)
  }

  run(): Reconciled {
    const { baseline, eventNames, source, isPartial, since } = this.#options
    const identification = new Identification(
      this.#tree,
      this.#rules,
      this.#pending,
      this.#matching,
      this.#options,
    )
    const { found: all, kept, roots, isIncomplete, unclaimed } = identification.identify(this.#snapshot)
    this.#all = all
    this.#kept = kept
    for (const found of all) {
      const names = found.match && eventNames?.get(found.match)
      if (names !== undefined) found.except = names
      if (isPartial || found.target?.isLook) this.#keepUnlisted(found)
    }
    const editor = new TreeEditor(this.#tree, source, baseline)
    const script = new EditScript(this.#tree, editor, this.#matching)
    for (const found of all) {
      this.#compare(found)
      this.#tree.trim()
    }
    const refusals = this.#snapshot.takeRefusals()
    for (const refusal of refusals) this.#arriveRefused(refusal)
    const arrivals = [...this.#arrivals.values()].flat()
    if (arrivals.length > 0) for (const found of all) this.#searchLost(found)
    script.leave(matchArrivals(arrivals, this.#gone, since))
    this.#placeAll(script)
    for (const found of all) if (found.match !== found.compared) this.#placeAnew(found, script)
    for (const { directory, name, entry } of this.#gone) script.deleteEntry(directory, name, entry)
    for (const found of all) this.#deleteLost(found, script)
    for (const found of all) this.#cover(found, script)
    for (const wd of unclaimed) this.#tree.disown(wd)
    for (const { parent, name, error } of refusals) {
      const { match } = parent
      if (match !== undefined && this.#tree.isAttached(match)) match.mount.refuse(match, name, error)
    }
    for (const found of all) this.#alterDirectory(found, script)
    for (const [directory, entry] of this.#unlisted)
      script.alterDirectory(directory, entry, this.#since(directory.parent ?? directory))
    for (const [directory, name, before, after] of this.#altered)
      script.alter(directory, name, before, after, this.#since(directory))
    const whatWasRead = ({ match, isRead }: SnapshotDir) => (match !== undefined && isRead ? [match] : [])
    return {
      changes: editor.take(),
      roots,
      status: this.#status,
      isIncomplete,
      compared: isIncomplete ? all.flatMap(whatWasRead) : [],
    }
  }

  #since(directory: Directory): number {
    const { source, since, comparedSince } = this.#options
    // What is polled lies above it: of what is written in there, its events tell.
    if (source === 'poll' && !directory.mount.usesPolling && directory.wd > 0) return Number.POSITIVE_INFINITY
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
      if (this.#matching.foundOf(directory) !== undefined) continue
      const entry = found.entries.get(directory.name)
      const isSeen = entry !== undefined && mayBeSame(directory, entry) && !isLinkBase(directory)
      if (target?.isLook && !isSeen) continue
      this.#kept.add(directory)
      // Where another mount begins, or a link leads, its own listing tells; and of what events speak, they.
      const isOurs = directory.mount === match.mount && found.covers(directory.name)
      if (entry !== undefined && isOurs) this.#unlisted.push([directory, entry])
    }
  }

  /** What of a directory's entries is not where it was, and what is altered. */
  #compare(found: SnapshotDir): void {
    const { match, listing } = found
    found.compared = match
    if (listing === undefined || !found.isRead) return
    const toldUntil = match?.mount.leftover.get(match)
    if (match !== undefined && toldUntil !== undefined) this.#sinces.set(match, toldUntil - CLOCK_SLACK_MS)
    const isListing = found.target?.names === undefined
    if (match === undefined || (isListing && !match.isListed)) {
      found.isNew = true
      if (this.#isPackable(found)) this.#pack(found)
      else for (const [name, entry] of found.entries) this.#arrive(found, name, entry, undefined)
      return
    }
    const doubtedSince = this.#doubtedSince(match)
    const isAll = isListing && !this.#rules.hidesSome && !this.#rules.followsLinks
    if (isAll && listing.filesCount > 0 && match.isPackedAs(listing.packedFiles))
      if (doubtedSince === Number.POSITIVE_INFINITY || !listing.hasFilesSince(doubtedSince)) return
    this.#doubt(match, doubtedSince)
    const before = this.#tree.entriesOf(match)
    for (const [name, entry] of before) {
      if (entry instanceof Directory || !found.covers(name)) continue
      const now = found.entries.get(name)
      if (now === undefined) {
        // Where what has left is, its arrival tells.
        if (this.#pending.moves.from(match, name) === undefined)
          this.#gone.push({ directory: match, name, entry })
      } else if (this.#isDirectory(found, name, now)) {
        // Until now it was not gone into: it makes way for what was found there, if anything was.
        if (entry.kind !== 'directory') this.#gone.push({ directory: match, name, entry })
      } else if (!mayBeSame(entry, now)) {
        if (!this.#isLeftToEvents(found, match, entry, now))
          this.#gone.push({ directory: match, name, entry })
      } else if (!this.#isLeftToEvents(found, match, entry, now))
        this.#altered.push([match, name, entry, now])
    }
    for (const [name, entry] of found.entries) {
      if (found.covers(name)) this.#arrive(found, name, entry, before.get(name))
    }
  }

  /**
   * Where events were lost, a file that was changed since the last moment up to which all had been told may have been written again after it was looked
   * at, within the same tick of the clock that stamps it. So its times are as good as others.
   */
  #doubtedSince(directory: Directory): number {
    const { statAll, since } = this.#options
    if (!statAll || since === 0 || !keepsStat(directory)) return Number.POSITIVE_INFINITY
    return Math.max(this.#since(directory), directory.mount.toldUntil - CLOCK_SLACK_MS)
  }

  #doubt(directory: Directory, since: number): void {
    if (since === Number.POSITIVE_INFINITY) return
    const entries = this.#tree.entriesOf(directory)
    for (const [name, entry] of entries) {
      const { stat } = entry
      if (entry instanceof Directory || stat === undefined || stat.ctimeMs < since) continue
      entries.set(name, { ...entry, stat: { ...stat, mtime: UNLIKE_ANY } })
    }
  }

  /** A directory of which nothing is believed, and nothing is told, is as it was found. */
  #isPackable({ mount, refused, bases }: SnapshotDir): boolean {
    const { baseline, statAll } = this.#options
    const { recursive, hidesSome, followsLinks } = this.#rules
    if (!baseline || !recursive || hidesSome || followsLinks || refused || bases) return false
    return mount.usesPolling || !statAll
  }

  #pack({ match, listing }: SnapshotDir): void {
    if (match !== undefined && listing !== undefined && listing.filesCount > 0)
      match.takePacked(listing.packedFiles)
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
    return kind === 'directory' && this.#rules.recursive && refused?.has(name) !== true
  }

  /** What it lies in may have been taken in before it was known that it is refused. */
  #arriveRefused({ parent, name, ino }: Refusal): void {
    if (this.#all.includes(parent) || parent.match === undefined) return
    const known = this.#tree.entriesOf(parent.match).get(name)
    this.#arrive(parent, name, { kind: 'directory', ino }, known)
  }

  #arrive(at: SnapshotDir, name: string, entry: Entry, known: Entry | undefined): void {
    if (this.#isDirectory(at, name, entry)) return
    if (!this.#snapshot.isResolved && entry.kind === 'symlink' && this.#rules.followsLinks) {
      this.#arriveUnresolved(at, name, entry, known)
      return
    }
    if (known !== undefined && !(known instanceof Directory) && mayBeSame(known, entry)) return
    const arrival = { at, name, entry, from: undefined, isPlaced: false }
    const others = this.#arrivals.get(at)
    if (others === undefined) this.#arrivals.set(at, [arrival])
    else others.push(arrival)
  }

  /** Nobody has looked where a link leads. */
  #arriveUnresolved(at: SnapshotDir, name: string, entry: Entry, known: Entry | undefined): void {
    if (known instanceof Directory && isLinkBase(known)) {
      this.#kept.add(known)
      if (known.mount.isLink(entry)) return
    } else if (known && mayBeSame(known, entry) && alteration(known, entry, 0) === undefined) return
    at.lookAt(name)
  }

  #placeAll(script: EditScript): void {
    // What has to be told as new where it belongs is so the next time; each time there is less of it that could be.
    for (let pass = 0, steps = -1; steps !== script.steps && pass <= this.#all.length; pass++) {
      steps = script.steps
      for (const found of this.#all) {
        script.placeDirectory(found)
        for (const arrival of this.#arrivals.get(found) ?? []) script.placeArrival(arrival)
      }
      // And what lies in directories that were taken in before.
      for (const arrivals of this.#arrivals.values())
        for (const arrival of arrivals) script.placeArrival(arrival)
    }
  }

  #placeAnew(found: SnapshotDir, script: EditScript): void {
    const { match } = found
    if (match === undefined || !found.isRead) return
    if (this.#isPackable(found) && !match.isWarm) {
      this.#pack(found)
      return
    }
    const there = this.#tree.entriesOf(match)
    for (const [name, entry] of found.entries) {
      if (there.has(name) || this.#isDirectory(found, name, entry) || found.toLookAt?.includes(name)) continue
      script.placeArrival({ at: found, name, entry, from: undefined, isPlaced: false })
    }
  }

  #deleteLost(found: SnapshotDir, script: EditScript): void {
    for (const directory of this.#lostIn(found)) {
      script.deleteEntry(found.match as Directory, directory.name, directory)
    }
  }

  /** What was in a directory that was not found may have been found elsewhere. */
  #searchLost(found: SnapshotDir): void {
    for (const lost of this.#lostIn(found)) {
      for (const directory of this.#tree.within(lost)) {
        this.#doubt(directory, this.#doubtedSince(directory))
        for (const [name, entry] of this.#tree.entriesOf(directory)) {
          const isFound = this.#matching.foundOf(directory) !== undefined
          if (!isFound && !(entry instanceof Directory)) this.#gone.push({ directory, name, entry })
        }
        this.#tree.trim()
      }
    }
  }

  #lostIn(found: SnapshotDir): Directory[] {
    const { match } = found
    if (match === undefined || !found.isRead || found.isNew) return []
    return [...match.subdirectories()].filter((directory) => {
      const { name } = directory
      const isKnown = this.#kept.has(directory) || this.#matching.foundOf(directory) !== undefined
      if (isKnown || this.#snapshot.hasLeftOut(directory)) return false
      return found.covers(name) && this.#pending.moves.from(match, name) === undefined
    })
  }

  #cover(found: SnapshotDir, script: EditScript): void {
    const { match, listing } = found
    if (listing === undefined || listing.isUnchanged) return
    if (match === undefined || !this.#tree.isAttached(match)) {
      this.#tree.disown(listing.wd)
      return
    }
    // Names were looked at: that adds no watch.
    const isListing = found.target?.names === undefined
    if (isListing) {
      const stale = this.#otherWith(listing.wd, match)
      this.#status.cover(match, listing)
      // There will be more of what was short in a moment.
      if (listing.isShort) this.#pending.work.list(match)
      if (stale !== undefined) this.#displace(stale, match, script)
    }
    if (found.isRead && isListing) {
      match.isListed = true
      match.ino = listing.ino
      // Of what events speak nothing was compared.
      if (match.mount.leftover.has(match) && found.except.size === 0)
        match.mount.leftover.set(match, this.#snapshot.startedAt)
      // A poll takes in what events have told behind its listing, and leaves out what they speak of.
      if (this.#options.source !== 'poll' && !found.target?.isLook) this.#noteScan(found, match)
    }
    // Found by a poll, which adds no watch.
    if (isUnwatched(match)) this.#pending.work.list(match)
    for (const name of found.toLookAt ?? []) this.#pending.work.look(match, name)
    // Before the first listing is there, nobody believes to know what is at their ends.
    const since = this.#options.baseline ? Number.POSITIVE_INFINITY : this.#snapshot.startedAt
    for (const name of found.links ?? []) this.#pending.work.follow(match, name, since)
  }

  /** An event may be older than what was listed: with its base, all that is new in a mount. */
  #noteScan({ isNew }: SnapshotDir, match: Directory): void {
    const { mount } = match
    if (mount.base === match && isNew) this.#pending.scans.add(mount)
    else if (!isNew || !this.#pending.scans.has(mount)) this.#pending.scans.add(match)
  }

  #otherWith(wd: number, directory: Directory): Directory | undefined {
    if (wd <= 0) return undefined
    return this.#tree.at(wd).find((other) => other !== directory && other.mount === directory.mount)
  }

  // One directory has one place in a mount. Where the watch says that this is another that was known elsewhere, that place is out
  // of date: its event is on the way, or was lost.
  #displace(stale: Directory, directory: Directory, script: EditScript): void {
    const { parent, name } = stale
    if (parent === undefined) return
    // What is there in truth, no event may be left to tell.
    this.#pending.rechecks.add(parent, name)
    let above: Directory | undefined = directory
    while (above !== undefined && above !== stale) above = above.parent
    if (above === undefined) script.deleteEntry(parent, name, stale)
  }

  #alterDirectory(found: SnapshotDir, script: EditScript): void {
    const { match, asEntry, listing } = found
    if (match?.parent === undefined || !this.#tree.isAttached(match)) return
    // The directory that it lies in tells of it.
    const since = found.hasMoved ? Number.POSITIVE_INFINITY : this.#since(match.parent)
    if (asEntry !== undefined) script.alterDirectory(match, asEntry, since)
    else if (keepsStat(match)) match.stat ??= listing?.owner
  }
}
