import type { Rules } from '../../rules.ts'
import type { Listing } from '../../scan/listing.ts'
import type { Directory } from '../../tree/directory.ts'
import { type ScanTarget, SnapshotDir } from './snapshot_dir.ts'

/** A mount that is not gone into, and why. */
export interface Refusal {
  parent: SnapshotDir
  name: string
  ino: number
  error: Error
}

/**
 * The findings of a scan: whole directories or some names in them, without ignored ones. It owns what was seen, and may not know
 * the tree.
 */
export class Snapshot {
  readonly #rules: Rules
  /** The directories in the order in which they were found: a directory comes before those in it. */
  directories: SnapshotDir[] = []
  /** ms since the epoch: the moment at which it was begun. */
  readonly startedAt: number
  /** False: the scan has not looked where links lead, nor what begins at a mount point. */
  readonly isResolved: boolean
  /** Tells which known directories were found in place, and left out since they are as they were. */
  readonly leftOut: { has?(directory: Directory): boolean } | undefined
  /** Watches that the walker has added to directories that are no part of this. */
  readonly unclaimed: number[] = []
  readonly #refusals: Refusal[] = []
  #targets: readonly ScanTarget[] = []
  #byId: Array<SnapshotDir | undefined> = []

  constructor(
    rules: Rules,
    startedAt: number,
    isResolved = true,
    leftOut?: { has?(directory: Directory): boolean },
  ) {
    this.#rules = rules
    this.startedAt = startedAt
    this.isResolved = isResolved
    this.leftOut = leftOut
  }

  /** Sets the targets of the listings to come. */
  begin(targets: readonly ScanTarget[]): void {
    this.#targets = targets
    this.#byId = []
  }

  /** Adds a listing. @param id the listing's number, if listings of several walks are put together */
  take(listing: Listing, id = listing.id): SnapshotDir | undefined {
    const { parent: parentId } = listing
    const target = parentId === undefined ? this.#targets[id] : undefined
    const parent = parentId === undefined ? target?.parent : this.#byId[parentId]
    const mount = target?.mount ?? parent?.mount
    if (mount === undefined) {
      if (listing.wd > 0) this.unclaimed.push(listing.wd)
      return undefined
    }
    const found = new SnapshotDir(this.#rules, target?.name ?? listing.name, parent, mount, listing, target)
    this.#byId[id] = found
    this.directories.push(found)
    if (target?.isBase === true && parent !== undefined) {
      parent.bases ??= new Map()
      parent.bases.set(found.name, found)
    }
    return found
  }

  /** Adds a mount that is not gone into. */
  refuse(parent: SnapshotDir, refusal: Omit<Refusal, 'parent'>): void {
    parent.refused ??= new Set()
    parent.refused.add(refusal.name)
    this.#refusals.push({ parent, ...refusal })
  }

  /** Takes the refusals since the last call. */
  takeRefusals(): Refusal[] {
    return this.#refusals.splice(0)
  }

  /** Notes a found directory that was taken in already: listings to come may be in it. */
  adopt(id: number, directory: SnapshotDir): void {
    this.#byId[id] = directory
  }

  has(id: number): boolean {
    return this.#byId[id] !== undefined
  }

  /** Returns a directory of the snapshot for a known one that others are in, whatever was seen of that. */
  wayTo(directory: Directory): SnapshotDir {
    const found = new SnapshotDir(this.#rules, directory.name, undefined, directory.mount)
    found.match = directory
    return found
  }
}
