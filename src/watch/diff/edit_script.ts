import { alteration, alterationOfMoved, type Entry } from '../scan/entry.ts'
import { Directory, isSameEntry, isWithin, keepsStat, kept } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { TreeEditor } from '../tree/tree_editor.ts'
import type { MoveMatcher } from './match_moves.ts'
import { type Added, type Removed, SnapshotDir } from './snapshot.ts'

/** Where something belongs. */
interface Destination {
  at: SnapshotDir
  name: string
  incoming: SnapshotDir | Added
}

/** One of several that have each other's place: where it is, and what it is there. */
interface CycleStep extends Removed {
  incoming: SnapshotDir | Added
}

/**
 * Turns the tree that is believed into the one that was found, a change at a time: what is believed is at any moment what was told. What
 * is in the way makes way first, by going where it belongs. What cannot, because its own place is not free or not there yet, is told as
 * deleted, and is new where it belongs; but what has each other's place is exchanged.
 */
export class EditScript {
  readonly #editor: TreeEditor
  readonly #tree: Tree
  readonly #matching: MoveMatcher
  // Where what is no directory goes, by where it is now.
  readonly #leaving = new Map<Directory, Map<string, Added>>()
  readonly #beingPlaced = new Set<SnapshotDir | Added>()
  /** How often something was placed, or will have to be told as new: while it grows, more may be to be had. */
  steps = 0

  constructor(tree: Tree, editor: TreeEditor, matching: MoveMatcher) {
    this.#tree = tree
    this.#editor = editor
    this.#matching = matching
  }

  /** What is no directory leaves its place for another. */
  leave(left: ReadonlyMap<Removed, Added>): void {
    for (const [{ directory, name }, arrival] of left) {
      const names = this.#leaving.get(directory)
      if (names === undefined) this.#leaving.set(directory, new Map([[name, arrival]]))
      else names.set(name, arrival)
    }
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
    if (altered !== undefined)
      this.#editor.alter(altered === 'replace' ? 'modify' : altered, directory, name, after)
  }

  alterDirectory(directory: Directory, after: Entry, since: number): void {
    const altered = alteration(directory, after, since)
    const knowsOwner = !directory.mount.usesPolling || directory.stat !== undefined
    if (keepsStat(directory.parent ?? directory)) directory.stat = after.stat
    const { parent, name } = directory
    if (altered === 'attrib' && knowsOwner && parent !== undefined)
      this.#editor.alter('attrib', parent, name, directory)
  }

  /** What is being placed already waits for this. */
  #once(incoming: SnapshotDir | Added, place: () => boolean): void {
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
    // It would go into itself.
    if (found.match !== undefined && isWithin(parent, found.match)) {
      this.#sunder(found.match)
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
  #exchange(first: SnapshotDir | Added, parent: Directory, name: string): boolean {
    const circle = this.#circleFrom(first, parent, name)
    if (circle === undefined) return false
    const toOf = (i: number) => circle[(i + 1) % circle.length] as CycleStep
    for (const { incoming, directory, name } of circle) {
      incoming.isPlaced = true
      if (incoming instanceof SnapshotDir) incoming.hasMoved = true
      else this.#leaving.get(directory)?.delete(name)
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

  /** What goes to the place of the next, the last to that of the first. undefined: they do not come round, or one lies in another. */
  #circleFrom(first: SnapshotDir | Added, parent: Directory, name: string): CycleStep[] | undefined {
    const origin = originOf(first)
    if (origin === undefined) return undefined
    const circle: CycleStep[] = [{ ...origin, incoming: first }]
    for (let at: { directory: Directory; name: string } = { directory: parent, name }; ; ) {
      if (at.directory === origin.directory && at.name === origin.name) break
      const entry = this.#tree.entriesOf(at.directory).get(at.name)
      const destination = entry && this.#destinationOf(at.directory, at.name, entry)
      const directory = destination?.at.match
      if (entry === undefined || destination === undefined || directory === undefined) return undefined
      // It runs into another circle.
      if (circle.some(({ directory, name }) => directory === at.directory && name === at.name))
        return undefined
      circle.push({ ...at, entry, incoming: destination.incoming })
      at = { directory, name: destination.name }
    }
    const isInside = ({ directory }: CycleStep) =>
      circle.some(({ entry }) => entry instanceof Directory && isWithin(directory, entry))
    return circle.length > 1 && !circle.some(isInside) ? circle : undefined
  }

  #destinationOf(directory: Directory, name: string, entry: Entry): Destination | undefined {
    if (entry instanceof Directory) {
      const found = this.#matching.foundOf(entry)
      return found?.parent && { at: found.parent, name: found.name, incoming: found }
    }
    const arrival = this.#leaving.get(directory)?.get(name)
    return arrival && { at: arrival.at, name: arrival.name, incoming: arrival }
  }

  /** What has this name goes where it belongs, if it can. */
  #makeWay(directory: Directory, name: string): void {
    const occupant = this.#tree.entriesOf(directory).get(name)
    const incoming = occupant && this.#destinationOf(directory, name, occupant)?.incoming
    if (incoming instanceof SnapshotDir) this.placeDirectory(incoming)
    else if (incoming !== undefined) this.placeArrival(incoming)
    else if (occupant instanceof Directory) this.#rescue(occupant)
  }

  /** What was found elsewhere leaves a directory that goes. */
  #rescue(directory: Directory): void {
    for (const each of [...this.#tree.within(directory)]) {
      const found = this.#matching.foundOf(each)
      if (found !== undefined) this.placeDirectory(found)
    }
    for (const [from, names] of [...this.#leaving]) {
      if (isWithin(from, directory)) for (const arrival of [...names.values()]) this.placeArrival(arrival)
    }
  }

  /** It and all in it will be new where it was found. */
  #sunder(directory: Directory): void {
    this.steps++
    for (const each of this.#tree.within(directory)) {
      const found = this.#matching.foundOf(each)
      if (found !== undefined) found.isPlaced = false
      this.#matching.release(each)
    }
    for (const [from, names] of this.#leaving) {
      if (isWithin(from, directory)) for (const name of [...names.keys()]) this.#part(from, name)
    }
  }

  #part(directory: Directory, name: string): void {
    const names = this.#leaving.get(directory)
    const arrival = names?.get(name)
    if (arrival !== undefined) arrival.from = undefined
    names?.delete(name)
    if (names?.size === 0) this.#leaving.delete(directory)
  }

  #delete(directory: Directory, name: string, entry: Entry): void {
    this.#part(directory, name)
    this.#abandon(directory, name, entry)
    this.#editor.delete({ directory, name, entry })
  }

  /** It goes from this name: what was to leave it, or was to be found in it, is new where it is. */
  #abandon(directory: Directory, name: string, entry: Entry): void {
    if (entry instanceof Directory) this.#sunder(entry)
    else this.#part(directory, name)
  }

  #tellAltered(before: Entry, after: Entry, directory: Directory, name: string): void {
    const altered = alterationOfMoved(before, after)
    if (altered !== undefined) this.#editor.alter(altered, directory, name, after)
  }
}

function isAt(directory: Directory | undefined, parent: Directory, name: string): boolean {
  return directory !== undefined && directory.parent === parent && directory.name === name
}

function originOf(incoming: SnapshotDir | Added): Removed | undefined {
  if (!(incoming instanceof SnapshotDir)) return incoming.from
  const { match } = incoming
  return match?.parent && { directory: match.parent, name: match.name, entry: match }
}
