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
 * What a scan has found, whole directories or some names in them; what is ignored is left out. It owns what was seen, and may not know
 * what is believed.
 */
export class Snapshot {
  readonly #rules: Rules
  /** In the order in which they were found: a directory comes before those in it. */
  directories: SnapshotDir[] = []
  /** ms since the epoch: when it was begun. */
  readonly startedAt: number
  /** False: whoever scanned has not looked where links lead, nor what begins at a mount point. */
  readonly isResolved: boolean
  /** Says of known directories whether they were found where they are believed to be, and left out since they are as they were. */
  readonly #leftOut: { has(directory: Directory): boolean } | undefined
  /** Watches that the walker has added to something that is no part of this. */
  readonly unclaimed: number[] = []
  readonly #known = new Map<Directory, SnapshotDir>()
  readonly #refusals: Refusal[] = []
  #targets: readonly ScanTarget[] = []
  #byId: Array<SnapshotDir | undefined> = []

  constructor(
    rules: Rules,
    startedAt: number,
    isResolved = true,
    leftOut?: { has(directory: Directory): boolean },
  ) {
    this.#rules = rules
    this.startedAt = startedAt
    this.isResolved = isResolved
    this.#leftOut = leftOut
  }

  hasLeftOut(directory: Directory): boolean {
    return this.#leftOut?.has(directory) ?? false
  }

  /** The targets that the listings to come are of. */
  begin(targets: readonly ScanTarget[]): void {
    this.#targets = targets
    this.#byId = []
  }

  /** @param id of the listing, where several walks' are put together */
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
    const requested = target?.requested
    // What was asked for in two ways is what was found first.
    if (requested !== undefined && this.#known.get(requested)?.listing === undefined)
      this.#known.set(requested, found)
    return found
  }

  /** Another mount that is not gone into. */
  refuse(parent: SnapshotDir, refusal: Omit<Refusal, 'parent'>): void {
    parent.refused ??= new Set()
    parent.refused.add(refusal.name)
    this.#refusals.push({ parent, ...refusal })
  }

  /** Those since the last time. */
  takeRefusals(): Refusal[] {
    return this.#refusals.splice(0)
  }

  /** A directory that was found has been taken in already: what follows may be in it. */
  adopt(id: number, directory: SnapshotDir): void {
    this.#byId[id] = directory
  }

  has(id: number): boolean {
    return this.#byId[id] !== undefined
  }

  /** A known directory that others are in. */
  wayTo(directory: Directory): SnapshotDir {
    const known = this.#known.get(directory)
    if (known !== undefined) return known
    const found = this.wayAround(directory)
    this.#known.set(directory, found)
    return found
  }

  /** The same, whatever was seen of it. */
  wayAround(directory: Directory): SnapshotDir {
    const found = new SnapshotDir(this.#rules, directory.name, undefined, directory.mount)
    found.match = directory
    return found
  }
}
