import type { Entry } from '../scan/entry.ts'
import { Directory, isWithin } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { Added, MoveMatcher, Removed } from './match_moves.ts'
import type { Snapshot } from './snapshot/snapshot.ts'
import { SnapshotDir } from './snapshot/snapshot_dir.ts'

/** What was found at a name, and has to get there. */
export type Incoming = SnapshotDir | Added

/** One of several that have each other's place: where it is, and what it is there. */
export interface CycleStep extends Removed {
  incoming: Incoming
}

/** Where something belongs. */
interface Destination {
  at: SnapshotDir
  name: string
  incoming: Incoming
}

/**
 * Where the entries of the tree were found: directories as the matcher has it, all else as it was said here. It owns what is still to leave its
 * name, and moves nothing itself.
 */
export class Destinations {
  readonly #tree: Tree
  readonly #matching: MoveMatcher
  readonly #snapshot: Pick<Snapshot, 'hasLeftOut'>
  // Where what is no directory goes, by where it is now.
  readonly #leaving = new Map<Directory, Map<string, Added>>()
  /** What the snapshot has left out as known has gone with what it was in: nobody knows any more what is there. */
  hasForgotten = false

  constructor(tree: Tree, matching: MoveMatcher, snapshot: Pick<Snapshot, 'hasLeftOut'>) {
    this.#tree = tree
    this.#matching = matching
    this.#snapshot = snapshot
  }

  /** What is no directory leaves its place for another. */
  add(left: ReadonlyMap<Removed, Added>): void {
    for (const [{ directory, name }, arrival] of left) {
      const names = this.#leaving.get(directory)
      if (names === undefined) this.#leaving.set(directory, new Map([[name, arrival]]))
      else names.set(name, arrival)
    }
  }

  /** undefined: it was found nowhere else. */
  of(directory: Directory, name: string, entry: Entry): Destination | undefined {
    if (entry instanceof Directory) {
      const found = this.#matching.foundOf(entry)
      return found?.parent && { at: found.parent, name: found.name, incoming: found }
    }
    const arrival = this.#leaving.get(directory)?.get(name)
    return arrival && { at: arrival.at, name: arrival.name, incoming: arrival }
  }

  /** What goes to the place of the next, the last to that of the first. undefined: they do not come round, or one lies in another. */
  circleFrom(first: Incoming, parent: Directory, name: string): CycleStep[] | undefined {
    const origin = originOf(first)
    if (origin === undefined) return undefined
    const circle: CycleStep[] = [{ ...origin, incoming: first }]
    for (let at: { directory: Directory; name: string } = { directory: parent, name }; ; ) {
      if (at.directory === origin.directory && at.name === origin.name) break
      const entry = this.#tree.entriesOf(at.directory).get(at.name)
      const destination = entry && this.of(at.directory, at.name, entry)
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

  /** What lies in a directory and was found: to be asked one by one, since what is moved may take others along. */
  *within(directory: Directory): Generator<Incoming> {
    for (const each of [...this.#tree.within(directory)]) {
      const found = this.#matching.foundOf(each)
      if (found !== undefined) yield found
    }
    for (const [from, names] of [...this.#leaving]) {
      if (isWithin(from, directory)) yield* [...names.values()]
    }
  }

  /** What was no directory has left this name. */
  take(directory: Directory, name: string): Added | undefined {
    const names = this.#leaving.get(directory)
    const arrival = names?.get(name)
    names?.delete(name)
    if (names?.size === 0) this.#leaving.delete(directory)
    return arrival
  }

  /** What goes from this name will be new where it was found; of a directory, all in it as well. */
  forget(directory: Directory, name: string, entry: Entry): void {
    this.#forgetArrival(directory, name)
    if (entry instanceof Directory) this.forgetDirectory(entry)
  }

  forgetDirectory(directory: Directory): void {
    for (const each of this.#tree.within(directory)) {
      const found = this.#matching.foundOf(each)
      if (found !== undefined) found.isPlaced = false
      else if (this.#snapshot.hasLeftOut(each)) this.hasForgotten = true
      this.#matching.release(each)
    }
    for (const [from, names] of this.#leaving) {
      if (isWithin(from, directory)) for (const name of [...names.keys()]) this.#forgetArrival(from, name)
    }
  }

  #forgetArrival(directory: Directory, name: string): void {
    const arrival = this.take(directory, name)
    if (arrival !== undefined) arrival.from = undefined
  }
}

function originOf(incoming: Incoming): Removed | undefined {
  if (!(incoming instanceof SnapshotDir)) return incoming.from
  const { match } = incoming
  return match?.parent && { directory: match.parent, name: match.name, entry: match }
}
