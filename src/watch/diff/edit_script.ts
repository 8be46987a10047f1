import type { Failures } from '../pending/failures.ts'
import { alteration, alterationOfMoved, type Entry } from '../scan/entry.ts'
import { isSameEntry, keepsStat, kept } from '../tree/believed_entry.ts'
import { Directory, isWithin } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { TreeEditor } from '../tree/tree_editor.ts'
import { type CycleStep, Destinations, type Incoming } from './destinations.ts'
import type { Added, MoveMatcher, Removed } from './match_moves.ts'
import type { Snapshot } from './snapshot/snapshot.ts'
import { SnapshotDir } from './snapshot/snapshot_dir.ts'

/**
 * Turns the tree that is believed into the one that was found, a change at a time: what is believed is at any moment what was told. What
 * is in the way makes way first, by going where it belongs. What cannot, because its own place is not free or not there yet, is told as
 * deleted, and is new where it belongs; but what has each other's place is exchanged.
 */
export class EditScript {
  readonly #editor: TreeEditor
  readonly #tree: Tree
  readonly #matching: MoveMatcher
  readonly #destinations: Destinations
  readonly #failed: Pick<Failures, 'carry'>
  readonly #isSaved: boolean
  readonly #beingPlaced = new Set<Incoming>()
  /** How often something was placed, or will have to be told as new: while it grows, more may be to be had. */
  steps = 0

  /** @param isSaved what is believed was saved: see {@link DiffOptions} */
  constructor(
    tree: Tree,
    editor: TreeEditor,
    matching: MoveMatcher,
    snapshot: Pick<Snapshot, 'hasLeftOut'>,
    failed: Pick<Failures, 'carry'>,
    isSaved = false,
  ) {
    this.#failed = failed
    this.#isSaved = isSaved
    this.#tree = tree
    this.#editor = editor
    this.#matching = matching
    this.#destinations = new Destinations(tree, matching, snapshot)
  }

  /** See {@link Destinations.hasForgotten}. */
  get hasForgotten(): boolean {
    return this.#destinations.hasForgotten
  }

  /** What is no directory leaves its place for another. */
  leave(left: ReadonlyMap<Removed, Added>): void {
    this.#destinations.add(left)
  }

  /** The directory's place in the tree is then the one that it was found at; if not, it is to be tried again. */
  placeDirectory(found: SnapshotDir): void {
    const { parent } = found
    if (parent === undefined) return
    this.#once(found, () => {
      this.placeDirectory(parent)
      return this.#placeDirectory(found, parent)
    })
  }

  /** Likewise what is no directory. */
  placeArrival(arrival: Added): void {
    this.#once(arrival, () => {
      this.placeDirectory(arrival.at)
      return this.#placeArrival(arrival)
    })
  }

  /** It is nowhere any more. */
  deleteEntry(directory: Directory, name: string, entry: Entry): void {
    if (!this.#tree.isAttached(directory) || !isSameEntry(this.#tree.entriesOf(directory).get(name), entry))
      return
    if (entry instanceof Directory) this.#rescue(entry)
    this.#delete(directory, name, entry)
  }

  /** It is where it was: is it as it was? */
  alter(directory: Directory, name: string, before: Entry, after: Entry, since: number): void {
    if (!this.#tree.isAttached(directory)) return
    const entries = this.#tree.entriesOf(directory)
    if (!isSameEntry(entries.get(name), before)) return
    const altered = alteration(before, after, since)
    this.#editor.update(directory, name, kept(directory, after))
    if (altered === undefined) return
    this.#editor.alter(altered === 'replace' ? 'modify' : altered, directory, name, after)
    if (altered === 'attrib' && this.#mayBeWritten(before, after))
      this.#editor.alter('modify', directory, name, after)
  }

  alterDirectory(directory: Directory, after: Entry, since: number): void {
    const altered = alteration(directory, after, since)
    const knowsOwner = !directory.mount.usesPolling || directory.stat !== undefined
    // One that is kept beyond that is what it was, and never what it is.
    directory.stat = keepsStat(directory.parent ?? directory) ? after.stat : undefined
    const { parent, name } = directory
    if (altered === 'attrib' && knowsOwner && parent !== undefined)
      this.#editor.alter('attrib', parent, name, directory)
  }

  /** What is being placed already waits for this. */
  #once(incoming: Incoming, place: () => boolean): void {
    if (incoming.isPlaced || this.#beingPlaced.has(incoming)) return
    this.#beingPlaced.add(incoming)
    if (place()) {
      incoming.isPlaced = true
      this.steps++
    }
    this.#beingPlaced.delete(incoming)
  }

  #placeDirectory(found: SnapshotDir, above: SnapshotDir): boolean {
    const parent = this.#parentFor(above)
    if (parent === undefined) return false
    const { name } = found
    // Nothing is in the way where nothing was known.
    if (above.isNew && found.match === undefined) {
      this.#create(found, parent, name)
      return true
    }
    if (isAt(found.match, parent, name) || this.#exchange(found, parent, name)) return true
    this.#makeWay(parent, name)
    // All may be otherwise now.
    if (this.#parentFor(above) !== parent) return false
    if (found.isPlaced || isAt(found.match, parent, name)) return true
    // It would go into itself: it and all in it will be new where it was found.
    if (found.match !== undefined && isWithin(parent, found.match)) {
      this.steps++
      this.#destinations.forgetDirectory(found.match)
      return false
    }
    const occupant = this.#tree.entriesOf(parent).get(name)
    // rename(2) replaces an empty directory.
    const isEmpty = occupant instanceof Directory && this.#tree.entriesOf(occupant).size === 0
    if (found.match !== undefined && isEmpty) this.#abandon(parent, name, occupant)
    else if (occupant !== undefined) this.#delete(parent, name, occupant)
    // It may have been in what has just gone.
    const { match } = found
    if (match === undefined) this.#create(found, parent, name)
    else {
      const directory = match.parent as Directory
      this.#failed.carry(match, directory)
      this.#editor.rename({ directory, name: match.name, entry: match }, parent, name, match)
      found.hasMoved = true
    }
    return true
  }

  #placeArrival(arrival: Added): boolean {
    const { at, name, entry } = arrival
    const parent = this.#parentFor(at)
    if (parent === undefined) return false
    if (this.#exchange(arrival, parent, name)) return true
    this.#makeWay(parent, name)
    if (this.#parentFor(at) !== parent) return false
    if (arrival.isPlaced) return true
    // What it was to leave has gone meanwhile, with all in it.
    if (arrival.from !== undefined && !this.#tree.isAttached(arrival.from.directory)) arrival.from = undefined
    const occupant = this.#tree.entriesOf(parent).get(name)
    // A rename or a new version replaces what is no directory.
    const isAlike = occupant !== undefined && occupant.kind !== 'directory'
    const replaced = isAlike && (arrival.from !== undefined || occupant.kind === entry.kind)
    if (replaced) this.#abandon(parent, name, occupant)
    else if (occupant !== undefined) this.#delete(parent, name, occupant)
    const { from } = arrival
    const as = kept(parent, entry)
    if (from !== undefined) {
      this.#abandon(from.directory, from.name, from.entry)
      this.#editor.rename(from, parent, name, as)
      this.#tellAltered(from.entry, entry, parent, name)
    } else if (replaced) {
      this.#editor.update(parent, name, as)
      this.#editor.alter('modify', parent, name, entry)
    } else this.#editor.create(parent, name, as)
    return true
  }

  /** Where it has its place, and there is one. */
  #parentFor(above: SnapshotDir): Directory | undefined {
    return above.isPlaced && above.match !== undefined && this.#tree.isAttached(above.match)
      ? above.match
      : undefined
  }

  #create(found: SnapshotDir, parent: Directory, name: string): void {
    const { listing, mount, isBase } = found
    const created = this.#editor.createDirectory(parent, name, listing?.ino ?? 0, mount)
    if (keepsStat(isBase ? created : parent)) created.stat = found.asEntry?.stat ?? listing?.owner
    if (isBase) this.#begin(found, parent, created)
    this.#matching.claim(created, found)
  }

  /** Another mount begins here, or a link is followed. */
  #begin({ mount, parent: above }: SnapshotDir, parent: Directory, base: Directory): void {
    const { name } = base
    mount.base = base
    if (mount.isLinked) mount.link = above?.entries.get(name)
    parent.mount.allow(parent, name)
    mount.join(parent.mount)
  }

  /** What has each other's place, two or more in a circle, gets it. */
  #exchange(first: Incoming, parent: Directory, name: string): boolean {
    const circle = this.#destinations.circleFrom(first, parent, name)
    if (circle === undefined) return false
    const toOf = (i: number) => circle[(i + 1) % circle.length] as CycleStep
    for (const { incoming, directory, name, entry } of circle) {
      incoming.isPlaced = true
      if (entry instanceof Directory) this.#failed.carry(entry, directory)
      if (incoming instanceof SnapshotDir) incoming.hasMoved = true
      else this.#destinations.take(directory, name)
    }
    this.#editor.rotate(
      circle.map((step, i) => ({
        ...step,
        as: step.incoming instanceof SnapshotDir ? step.entry : kept(toOf(i).directory, step.incoming.entry),
      })),
    )
    for (const [i, { incoming, entry }] of circle.entries()) {
      if (incoming instanceof SnapshotDir) continue
      const { directory, name } = toOf(i)
      this.#tellAltered(entry, incoming.entry, directory, name)
    }
    return true
  }

  /** What has this name goes where it belongs, if it can. */
  #makeWay(directory: Directory, name: string): void {
    const occupant = this.#tree.entriesOf(directory).get(name)
    const destination = occupant && this.#destinations.of(directory, name, occupant)
    if (destination !== undefined) this.#place(destination.incoming)
    else if (occupant instanceof Directory) this.#rescue(occupant)
  }

  /** What was found elsewhere leaves a directory that goes. */
  #rescue(directory: Directory): void {
    for (const incoming of this.#destinations.within(directory)) this.#place(incoming)
  }

  #place(incoming: Incoming): void {
    if (incoming instanceof SnapshotDir) this.placeDirectory(incoming)
    else this.placeArrival(incoming)
  }

  #delete(directory: Directory, name: string, entry: Entry): void {
    this.#abandon(directory, name, entry)
    this.#editor.delete({ directory, name, entry })
  }

  /** It goes from this name: what was to leave it, or was to be found in it, is new where it is. */
  #abandon(directory: Directory, name: string, entry: Entry): void {
    if (entry instanceof Directory) this.steps++
    this.#destinations.forget(directory, name, entry)
  }

  /**
   * Since it was saved, that is, as far as its times tell: a rename, a chmod or another link set the ctime, and so does who writes and puts the mtime back. Nobody has told which of
   * them it was, so all of it is told.
   */
  #mayBeWritten({ stat: before }: Entry, { kind, stat: after }: Entry): boolean {
    if (!this.#isSaved || kind !== 'file' || before === undefined || after === undefined) return false
    const isRead = before.content !== undefined && before.content === after.content
    return !isRead && before.ctime !== after.ctime
  }

  #tellAltered(before: Entry, after: Entry, directory: Directory, name: string): void {
    const altered = alterationOfMoved(before, after)
    if (altered === 'attrib' || altered === undefined)
      if (this.#mayBeWritten(before, after)) this.#editor.alter('modify', directory, name, after)
    if (altered !== undefined) this.#editor.alter(altered, directory, name, after)
  }
}

function isAt(directory: Directory | undefined, parent: Directory, name: string): boolean {
  return directory !== undefined && directory.parent === parent && directory.name === name
}
