import type { InotifyError } from '../../errors.ts'
import type { Translator } from '../events/translator.ts'
import type { Surroundings } from '../pending/work_list.ts'
import type { Change } from '../report/change.ts'
import { type Entry, mayBeSame } from '../scan/entry.ts'
import type { Listing } from '../scan/listing.ts'
import { findingOf, type RootFinding } from '../scan/root_finding.ts'
import { Directory, isLinkBase, isUnwatched, keepsStat } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { WatchStatus } from '../tree/watch_status.ts'
import type { WatchedMount } from '../tree/watched_mount.ts'
import type { DiffOptions } from './diff_options.ts'
import { EditScript } from './edit_script.ts'
import { MoveMatcher, matchArrivals } from './match_moves.ts'
import { type Added, type Removed, SnapshotDir } from './snapshot.ts'

/**
 * Holds all that a walk has found against all that is believed, when both are whole: only then is it known what has moved from where to
 * where. The changes lead from the one to the other, in the order in which they are told.
 */
export class Reconciliation {
  readonly options: DiffOptions
  readonly roots = new Map<Directory, RootFinding>()
  readonly #tree: Tree
  readonly #translator: Translator
  readonly #around: Surroundings
  readonly #watchStatus: WatchStatus
  readonly #matching: MoveMatcher
  readonly #all: SnapshotDir[] = []
  // Those of them of which their parent's listing tells all there is to tell.
  readonly #unlisted: Array<[directory: Directory, entry: Entry]> = []
  #requested: readonly Directory[] = []
  #byId: Array<SnapshotDir | undefined> = []
  #deeper: Directory[] = []
  // Known directories that are where they were, and were not looked into.
  readonly #kept = new Set<Directory>()
  readonly #arrivals = new Map<SnapshotDir, Added[]>()
  readonly #gone: Removed[] = []
  readonly #children = new Map<Directory, Map<string, Directory>>()
  readonly #altered: Array<[directory: Directory, name: string, before: Entry, after: Entry]> = []
  /** What was believed to be somewhere had moved when it was looked into, so that nobody knows what has become of what is in it. */
  isIncomplete = false

  constructor(tree: Tree, translator: Translator, around: Surroundings, options: DiffOptions) {
    this.#tree = tree
    this.#translator = translator
    this.#around = around
    this.options = options
    this.#watchStatus = new WatchStatus(tree, around, options.fallBackToPolling)
    this.#matching = new MoveMatcher(tree, options.matchByName, options.since)
  }

  get shortage(): InotifyError | undefined {
    return this.#watchStatus.shortage
  }

  get watchStatus(): WatchStatus {
    return this.#watchStatus
  }

  /** See {@link WatchStatus.unlisted}. */
  get unlisted(): InotifyError | undefined {
    return this.#watchStatus.unlisted
  }

  begin(directories: readonly Directory[]): void {
    this.#requested = directories
    this.#byId = []
  }

  take(listing: Listing): void {
    const { parent } = listing
    const found = parent === undefined ? this.#request(listing) : this.#below(this.#byId[parent], listing)
    this.#byId[listing.id] = found
    if (found === undefined) this.#tree.disown(listing.wd)
    else this.#all.push(found)
  }

  takeDeeper(): Directory[] {
    const deeper = this.#deeper
    this.#deeper = []
    return deeper
  }

  /** When no more comes: the changes. */
  finish(): Change[] {
    if (this.options.isPartial) for (const found of this.#all) this.#keepUnlisted(found)
    for (const found of this.#all) {
      this.#compare(found)
      this.#tree.trim()
    }
    const arrivals = [...this.#arrivals.values()].flat()
    if (arrivals.length > 0) for (const found of this.#all) this.#searchLost(found)
    const left = matchArrivals(arrivals, this.#gone, this.options.since)
    const placing = new EditScript(this.#tree, this.#around, this.options.source, this.#matching, left)
    // What has to be told as new where it belongs is so the next time; each time there is less of it that could be.
    for (let pass = 0; pass <= this.#all.length && !this.#placeAll(placing); pass++);
    for (const found of this.#all) if (found.match !== found.compared) this.#placeAnew(found, placing)
    for (const { directory, name, entry } of this.#gone) placing.deleteEntry(directory, name, entry)
    for (const found of this.#all) this.#deleteLost(found, placing)
    for (const found of this.#all) this.#cover(found)
    for (const found of this.#all) this.#alterDirectory(found, placing)
    for (const [directory, entry] of this.#unlisted)
      placing.alterDirectory(directory, entry, this.#since(directory.parent ?? directory))
    for (const [directory, name, before, after] of this.#altered)
      placing.alter(directory, name, before, after, this.#since(directory))
    return placing.changes
  }

  /** The directories that were compared as a whole. */
  get compared(): Directory[] {
    return this.#all.flatMap(({ match, listing }) =>
      match !== undefined && listing.error === 0 ? [match] : [],
    )
  }

  #since(directory: Directory): number {
    const { source, since, comparedSince } = this.options
    // What is polled lies above it: of what is written in there, its events tell.
    if (source === 'poll' && !directory.mount.usesPolling && directory.wd > 0) return Number.POSITIVE_INFINITY
    return comparedSince?.get(directory) ?? since
  }

  #request(listing: Listing): SnapshotDir | undefined {
    const directory = this.#requested[listing.id]
    if (directory === undefined || !this.#tree.isAttached(directory)) return undefined
    const { parent, name, mount } = directory
    if (parent === undefined) this.roots.set(directory, findingOf(listing))
    const isGone = listing.isGone
    const isOther = listing.error === 0 && parent !== undefined && listing.mountId !== mount.mountId
    if (isGone || isOther) {
      if (isGone && parent !== undefined) this.isIncomplete = true
      // An event tells, or a look: see Survey.
      if (parent !== undefined) this.#around.doubt(parent, name)
      return undefined
    }
    if (parent === undefined && listing.error !== 0) return undefined
    if (listing.error === 0) {
      directory.ino = listing.ino
      mount.mountId = listing.mountId
    }
    const found = new SnapshotDir(name, undefined, listing)
    this.#matching.claim(directory, found)
    found.isPlaced = true
    return found
  }

  #below(above: SnapshotDir | undefined, listing: Listing): SnapshotDir | undefined {
    if (above === undefined) return undefined
    const { name } = listing
    const parent = above.match
    if (parent !== undefined && this.#isTouched(parent, name)) return undefined
    const entry = parent === undefined ? undefined : this.#subdirectory(parent, name, listing.ino)
    if (listing.isBoundary) {
      this.#meet(above, name, entry, listing.mountId)
      return undefined
    }
    if (listing.isGone) {
      if (entry !== undefined) {
        this.isIncomplete = true
        this.#keep(entry)
      }
      return undefined
    }
    const found = new SnapshotDir(name, above, listing)
    this.#matching.match(found, entry, this.#mountOf(above))
    return found
  }

  /** Another mount. If it is new, it is looked at when this is done. */
  #meet(above: SnapshotDir, name: string, known: Directory | undefined, mountId: number): void {
    if (known !== undefined && known.mount.base === known && known.mount.mountId === mountId) {
      this.#kept.add(known)
      if (this.options.source !== 'poll') this.#deeper.push(known)
    } else if (above.match !== undefined) {
      if (known !== undefined) this.#keep(known)
      this.#around.doubt(above.match, name)
    } else above.boundaries.push(name)
  }

  #keep(directory: Directory): void {
    const { parent, name } = directory
    this.#kept.add(directory)
    if (parent !== undefined) this.#around.doubt(parent, name)
  }

  #mountOf(found: SnapshotDir): WatchedMount {
    let each: SnapshotDir | undefined = found
    while (each?.match === undefined && each?.parent !== undefined) each = each.parent
    return (each.match as Directory).mount
  }

  // Most directories stay packed.
  #subdirectory(parent: Directory, name: string, ino: number): Directory | undefined {
    let children = this.#children.get(parent)
    if (children === undefined) {
      children = new Map()
      for (const each of parent.subdirectories()) children.set(each.name, each)
      this.#children.set(parent, children)
    }
    const known = children.get(name)
    const isAnother = known !== undefined && known.ino !== ino && this.#translator.hasLeft(parent, name)
    return isAnother ? undefined : known
  }

  #isTouched(directory: Directory, name: string): boolean {
    return this.options.eventNames?.get(directory)?.has(name) ?? false
  }

  /** What is in a directory and has no listing of its own is as it was, but for what the directory's listing says of it. */
  #keepUnlisted({ match, listing, entries }: SnapshotDir): void {
    if (match === undefined || listing.isUnchanged) return
    for (const directory of match.subdirectories()) {
      if (this.#matching.foundOf(directory) !== undefined) continue
      this.#kept.add(directory)
      const entry = entries.get(directory.name)
      // Where another mount begins, or a link leads, its own listing tells; and of what events speak, they.
      const isOurs = directory.mount === match.mount && !this.#isTouched(match, directory.name)
      if (entry !== undefined && isOurs) this.#unlisted.push([directory, entry])
    }
  }

  /** What of a directory's entries is not where it was, and what is altered. */
  #compare(found: SnapshotDir): void {
    const { match, listing } = found
    found.compared = match
    if (listing.error !== 0 || listing.isUnchanged) return
    if (match === undefined || !match.isListed) {
      for (const [name, entry] of found.entries) this.#arrive(found, name, entry, undefined)
      return
    }
    if (listing.filesCount > 0 && match.isPackedAs(listing.packedFiles)) return
    const { recursive } = this.#around
    const before = this.#tree.entriesOf(match)
    for (const [name, entry] of before) {
      if (entry instanceof Directory || this.#isTouched(match, name)) continue
      const now = found.entries.get(name)
      // A directory that is not gone into.
      if (recursive && entry.kind === 'directory' && now?.kind === 'directory') continue
      if (now !== undefined && mayBeSame(entry, now)) this.#altered.push([match, name, entry, now])
      // Where what has left is, its arrival tells.
      else if (now !== undefined || !this.#translator.hasLeft(match, name))
        this.#gone.push({ directory: match, name, entry })
    }
    for (const [name, entry] of found.entries) {
      if (!this.#isTouched(match, name)) this.#arrive(found, name, entry, before.get(name))
    }
  }

  #arrive(at: SnapshotDir, name: string, entry: Entry, known: Entry | undefined): void {
    // Directories have listings of their own.
    if (entry.kind === 'directory' && this.#around.recursive) return
    if (known instanceof Directory && entry.kind === 'symlink' && isLinkBase(known)) {
      this.#kept.add(known)
      if (this.options.source !== 'poll') this.#deeper.push(known)
      return
    }
    if (known !== undefined && !(known instanceof Directory) && mayBeSame(known, entry)) return
    const arrival = { at, name, entry, from: undefined, isPlaced: false }
    const others = this.#arrivals.get(at)
    if (others === undefined) this.#arrivals.set(at, [arrival])
    else others.push(arrival)
  }

  #placeAll(placing: EditScript): boolean {
    let isDone = true
    for (const found of this.#all) {
      placing.placeDirectory(found)
      for (const arrival of this.#arrivals.get(found) ?? []) {
        placing.placeArrival(arrival)
        if (!arrival.isPlaced) isDone = false
      }
      if (!found.isPlaced) isDone = false
    }
    return isDone
  }

  #placeAnew(found: SnapshotDir, placing: EditScript): void {
    const { match, listing } = found
    if (match === undefined || listing.error !== 0) return
    const there = this.#tree.entriesOf(match)
    for (const [name, entry] of found.entries) {
      if (there.has(name) || (entry.kind === 'directory' && this.#around.recursive)) continue
      placing.placeArrival({ at: found, name, entry, from: undefined, isPlaced: false })
    }
  }

  #deleteLost(found: SnapshotDir, placing: EditScript): void {
    for (const directory of this.#lostIn(found)) {
      placing.deleteEntry(found.match as Directory, directory.name, directory)
    }
  }

  /** What was in a directory that was not found may have been found elsewhere. */
  #searchLost(found: SnapshotDir): void {
    for (const lost of this.#lostIn(found)) {
      for (const directory of this.#tree.within(lost)) {
        for (const [name, entry] of this.#tree.entriesOf(directory)) {
          const isFound = this.#matching.foundOf(directory) !== undefined
          if (!isFound && !(entry instanceof Directory)) this.#gone.push({ directory, name, entry })
        }
        this.#tree.trim()
      }
    }
  }

  #lostIn({ match, listing }: SnapshotDir): Directory[] {
    if (match === undefined || listing.error !== 0 || listing.isUnchanged) return []
    return [...match.subdirectories()].filter((directory) => {
      const isKnown = this.#matching.foundOf(directory) !== undefined || this.#kept.has(directory)
      const { name } = directory
      return !isKnown && !this.#isTouched(match, name) && !this.#translator.hasLeft(match, name)
    })
  }

  #cover({ match, listing, boundaries }: SnapshotDir): void {
    if (listing.isUnchanged) return
    if (match === undefined || !this.#tree.isAttached(match)) {
      this.#tree.disown(listing.wd)
      return
    }
    this.#watchStatus.cover(match, listing)
    if (listing.error === 0) {
      match.isListed = true
      match.ino = listing.ino
    }
    // Found by a poll, which adds no watch.
    if (isUnwatched(match)) this.#around.list(match)
    for (const name of boundaries) this.#around.doubt(match, name)
    // A poll takes in what events have told behind its listing, and leaves out what they speak of.
    if (this.options.source !== 'poll') this.#translator.listed.add(match)
  }

  #alterDirectory(found: SnapshotDir, placing: EditScript): void {
    const { match, asEntry } = found
    if (match?.parent === undefined || !this.#tree.isAttached(match)) return
    // The directory that it lies in tells of it.
    const since = found.hasMoved ? Number.POSITIVE_INFINITY : this.#since(match.parent)
    if (asEntry !== undefined) placing.alterDirectory(match, asEntry, since)
    else if (keepsStat(match)) match.stat ??= found.listing.owner
  }
}
