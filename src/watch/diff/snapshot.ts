import type { Entries, Entry } from '../scan/entry.ts'
import type { Listing } from '../scan/listing.ts'
import type { Directory } from '../tree/directory.ts'

/** A directory as a walk has found it. */
export class SnapshotDir {
  readonly name: string
  readonly parent: SnapshotDir | undefined
  readonly listing: Listing
  /** Which of the known directories it is. */
  match: Directory | undefined
  /** Which of them its entries were compared with. */
  compared: Directory | undefined
  /** Whether it has been given its place, or is being given it. */
  isPlaced = false
  /** It was elsewhere, and has been told as moved: that changes its ctime. */
  hasMoved = false
  /** Names in it where another mount begins that is not known yet. */
  readonly boundaries: string[] = []
  #entries: Entries | undefined

  constructor(name: string, parent: SnapshotDir | undefined, listing: Listing, match?: Directory) {
    this.name = name
    this.parent = parent
    this.listing = listing
    this.match = match
  }

  get entries(): Entries {
    this.#entries ??= this.listing.entries()
    return this.#entries
  }

  /** What its parent's listing says of it. */
  get asEntry(): Entry | undefined {
    return this.parent?.listing.isUnchanged ? undefined : this.parent?.entries.get(this.name)
  }
}

/** Where something was. */
export interface Removed {
  directory: Directory
  name: string
  entry: Entry
}

/** Something, no directory, at a place where it was not before. */
export interface Added {
  at: SnapshotDir
  name: string
  entry: Entry
  /** undefined: it is new. */
  from: Removed | undefined
  isPlaced: boolean
}
