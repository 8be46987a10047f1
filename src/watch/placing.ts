import type { Change, Source } from './change.ts'
import { Directory } from './directory.ts'
import { alteration, alterationOfMoved, type Entry } from './entries.ts'
import { type Arrival, Found, type Origin } from './found.ts'
import type { DirectoryMatching } from './matching.ts'
import type { Surroundings } from './translate.ts'
import type { Tree } from './tree.ts'

/**
 * Turns the tree that is believed into the one that was found, a change at a time. What is in the way makes way first, by going where it
 * belongs; where that goes in a circle (an exchange is the smallest), it stands aside: the renames are then `replaced: false` each.
 */
export class Placing {
  readonly changes: Change[] = []
  readonly #tree: Tree
  readonly #around: Surroundings
  readonly #source: Source
  readonly #matching: DirectoryMatching
  // Where what is no directory goes, by where it was.
  readonly #leaving = new Map<Entry, Arrival>()
  // Where those who know nothing but the changes have what stands aside.
  readonly #aside = new Map<Entry, string>()
  readonly #beingPlaced = new Set<Found>()

  constructor(
    tree: Tree,
    around: Surroundings,
    source: Source,
    matching: DirectoryMatching,
    left: ReadonlyMap<Origin, Arrival>,
  ) {
    this.#tree = tree
    this.#around = around
    this.#source = source
    this.#matching = matching
    for (const [{ entry }, arrival] of left) this.#leaving.set(entry, arrival)
  }

  /** The directory's place in the tree is then the one that it was found at. */
  placeDirectory(found: Found): void {
    if (found.isPlaced || found.parent === undefined) return
    found.isPlaced = true
    this.#beingPlaced.add(found)
    this.placeDirectory(found.parent)
    found.isPlaced = this.#place(found, found.parent)
    this.#beingPlaced.delete(found)
  }

  /** False: not yet. */
  #place(found: Found, above: Found): boolean {
    const parent = above.match
    // It goes into a directory whose own place is just being made free.
    if (parent === undefined || !this.#tree.isAttached(parent)) return false
    const { name } = found
    if (found.match !== undefined && found.match.parent === parent && found.match.name === name) return true
    if (found.match !== undefined && this.#isWithin(parent, found.match)) {
      this.#sunder(found.match)
      return false
    }
    const isReplaced = this.#vacate(parent, name, found)
    // Taken apart meanwhile.
    if (above.match !== parent) return false
    const { match } = found
    if (match === undefined) {
      const created = this.#tree.add(parent, name, found.listing.ino, parent.territory)
      if (parent.territory.isPolled) created.stat = found.asEntry?.stat ?? found.listing.owner
      this.#matching.claim(created, found)
      this.#tell('create', this.#tree.pathOf(created), created)
      return true
    }
    const from = this.#leave(match)
    this.#tree.detach(match)
    this.#tree.attach(match, parent, name)
    this.#rename(from, this.#tree.pathOf(match), isReplaced, match)
    return true
  }

  placeArrival(arrival: Arrival): void {
    if (arrival.isPlaced) return
    arrival.isPlaced = true
    this.placeDirectory(arrival.at)
    const parent = arrival.at.match
    if (parent === undefined || !this.#tree.isAttached(parent)) {
      // It goes into a directory whose own place is just being made free, by the end of the one that it was in: it is new there.
      if (arrival.from !== undefined) this.#leaving.delete(arrival.from.entry)
      arrival.from = undefined
      arrival.isPlaced = false
      return
    }
    const { name, entry } = arrival
    const isReplaced = this.#vacate(parent, name, arrival)
    if (arrival.at.match !== parent) {
      if (arrival.from !== undefined) this.#leaving.delete(arrival.from.entry)
      arrival.from = undefined
      arrival.isPlaced = false
      return
    }
    const { from } = arrival
    const path = this.#tree.pathOf(parent, name)
    if (from !== undefined) {
      const oldPath = this.#leave(from.entry, from)
      const entries = this.#tree.entriesOf(from.directory)
      if (entries.get(from.name) === from.entry) entries.delete(from.name)
      this.#rename(oldPath, path, isReplaced, entry)
      const altered = alterationOfMoved(from.entry, entry)
      if (altered !== undefined) this.#tell(altered, path, entry)
    } else if (entry.kind === 'symlink' && this.#around.follow(parent, name, 0)) return
    else this.#tell(isReplaced ? 'modify' : 'create', path, entry)
    this.#tree.entriesOf(parent).set(name, this.#kept(parent, entry))
  }

  /** It is nowhere any more. */
  deleteEntry(directory: Directory, name: string, entry: Entry): void {
    if (this.#tree.entriesOf(directory).get(name) === entry && this.#tree.isAttached(directory)) {
      this.#delete(directory, name, entry)
    }
  }

  /** It is where it was: is it as it was? */
  alter(directory: Directory, name: string, before: Entry, after: Entry, since: number): void {
    const entries = this.#tree.entriesOf(directory)
    if (entries.get(name) !== before || !this.#tree.isAttached(directory)) return
    // Of a link that is not followed nothing is known but that it is one.
    const isLeaf = before.kind === 'symlink' && before.stat === undefined && directory.territory.isPolled
    const altered = isLeaf ? undefined : alteration(before, after, since)
    entries.set(name, this.#kept(directory, after))
    if (altered !== undefined) {
      this.#tell(altered === 'replace' ? 'modify' : altered, this.#tree.pathOf(directory, name), after)
    }
  }

  alterDirectory(directory: Directory, after: Entry, since: number): void {
    const { territory } = directory
    const knowsOwner = !territory.isPolled || directory.stat !== undefined
    const altered = knowsOwner ? alteration(directory, after, since) : undefined
    if (territory.isPolled) directory.stat = after.stat
    if (altered === 'attrib') this.#tell('attrib', this.#tree.pathOf(directory), directory)
  }

  /** Frees a name for what was found there. Whether that has replaced what was there, as a rename(2) or a new version does. */
  #vacate(directory: Directory, name: string, incoming: Found | Arrival): boolean {
    const occupant = this.#tree.entriesOf(directory).get(name)
    if (occupant === undefined) return false
    this.#goOn(occupant)
    const isTakenApart = this.#matching.foundOf(directory) === undefined
    if (isTakenApart || this.#tree.entriesOf(directory).get(name) !== occupant) return false
    // It goes into what takes its place, or what is new there cannot be told before it is gone: nobody could tell that by renames.
    const isNew = incoming instanceof Found ? incoming.match === undefined : incoming.from === undefined
    if (occupant instanceof Directory) {
      const origin = incoming instanceof Found ? incoming.match : incoming.from?.directory
      const isInside = origin !== undefined && this.#isWithin(origin, occupant)
      if (isNew || isInside || this.#matching.foundOf(occupant)?.isPlaced === false) this.#sunder(occupant)
    } else if (isNew) {
      const arrival = this.#leaving.get(occupant)
      if (arrival !== undefined) arrival.from = undefined
      this.#leaving.delete(occupant)
    }
    if (this.#isOnItsWay(occupant)) {
      this.#aside.set(occupant, this.#tree.pathOf(directory, name))
      this.#takeOut(directory, name, occupant)
      return false
    }
    const isReplaced = this.#isReplacedBy(occupant, incoming)
    if (isReplaced) this.#takeOut(directory, name, occupant)
    else this.#delete(directory, name, occupant)
    return isReplaced
  }

  // rename(2) replaces what is no directory by what is none, and an empty directory by a directory. A new file takes the place of one.
  #isReplacedBy(occupant: Entry, incoming: Found | Arrival): boolean {
    if (incoming instanceof Found) {
      if (incoming.match === undefined || !(occupant instanceof Directory)) return false
      return this.#tree.entriesOf(occupant).size === 0
    }
    if (occupant.kind === 'directory' || incoming.entry.kind === 'directory') return false
    return incoming.from !== undefined || occupant.kind === incoming.entry.kind
  }

  #takeOut(directory: Directory, name: string, entry: Entry): void {
    if (!(entry instanceof Directory)) this.#tree.entriesOf(directory).delete(name)
    else if (this.#aside.has(entry)) this.#tree.detach(entry)
    else this.#tree.drop(entry)
  }

  /** To where it was found, if it was. */
  #goOn(occupant: Entry): void {
    if (occupant instanceof Directory) {
      const found = this.#matching.foundOf(occupant)
      if (found !== undefined) this.placeDirectory(found)
      else this.#rescue(occupant)
    } else {
      const arrival = this.#leaving.get(occupant)
      if (arrival !== undefined) this.placeArrival(arrival)
    }
  }

  /** What was found elsewhere leaves a directory that goes. */
  #rescue(directory: Directory): void {
    for (const each of [...this.#tree.within(directory)]) {
      const found = this.#matching.foundOf(each)
      if (found !== undefined) this.placeDirectory(found)
    }
    for (const [entry, arrival] of this.#leaving) {
      const { from } = arrival
      if (from !== undefined && !arrival.isPlaced && this.#isWithin(from.directory, directory))
        this.#goOn(entry)
    }
  }

  /** Whether its place is being made free just now. */
  #isOnItsWay(occupant: Entry): boolean {
    return occupant instanceof Directory
      ? this.#matching.foundOf(occupant) !== undefined
      : this.#leaving.has(occupant)
  }

  /** Turned inside out: what it has become, nobody could tell by renames. */
  #sunder(directory: Directory): void {
    for (const each of this.#tree.within(directory)) {
      const found = this.#matching.foundOf(each)
      if (found !== undefined && !this.#beingPlaced.has(found)) found.isPlaced = false
      this.#matching.release(each)
    }
    for (const [entry, arrival] of this.#leaving) {
      if (arrival.from === undefined || !this.#isWithin(arrival.from.directory, directory)) continue
      arrival.from = undefined
      this.#leaving.delete(entry)
    }
  }

  /** From where those who know nothing but the changes see it leave. */
  #leave(entry: Entry, origin?: Origin): string {
    const aside = this.#aside.get(entry)
    this.#aside.delete(entry)
    if (origin !== undefined) this.#leaving.delete(entry)
    if (aside !== undefined) return aside
    if (origin !== undefined) return this.#tree.pathOf(origin.directory, origin.name)
    return this.#tree.pathOf(entry as Directory)
  }

  #kept(directory: Directory, entry: Entry): Entry {
    return directory.territory.isPolled ? entry : { kind: entry.kind, ino: entry.ino }
  }

  #isWithin(directory: Directory, other: Directory): boolean {
    for (let each: Directory | undefined = directory; each !== undefined; each = each.parent) {
      if (each === other) return true
    }
    return false
  }

  #delete(directory: Directory, name: string, entry: Entry): void {
    if (entry instanceof Directory) {
      this.#rescue(entry)
      // What could not leave, for it takes the place of this, goes with it.
      this.#sunder(entry)
    }
    this.#tell('delete', this.#tree.pathOf(directory, name), entry)
    if (entry instanceof Directory) this.#tree.drop(entry)
    else this.#tree.entriesOf(directory).delete(name)
  }

  #rename(from: string, path: string, replaced: boolean, { kind }: Entry): void {
    this.changes.push({ type: 'rename', from, path, replaced, kind, mask: 0, source: this.#source })
  }

  #tell(type: 'create' | 'modify' | 'attrib' | 'delete', path: string, { kind }: Entry): void {
    this.changes.push({ type, path, kind, mask: 0, source: this.#source })
  }
}
