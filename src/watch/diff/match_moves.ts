import { type Entry, moved } from '../scan/entry.ts'
import type { Directory, WatchedMount } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { DiffOptions } from './diff_options.ts'
import type { SnapshotDir } from './snapshot/snapshot_dir.ts'

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

/** Which known directory a found one is; undefined: none, it is new. Each is given away once. */
export class MoveMatcher {
  readonly #tree: Tree
  readonly #options: DiffOptions
  readonly #foundOf = new Map<Directory, SnapshotDir>()
  readonly #byIno = new Map<WatchedMount, Map<number, Directory>>()

  constructor(tree: Tree, options: DiffOptions) {
    this.#tree = tree
    this.#options = options
  }

  foundOf(directory: Directory): SnapshotDir | undefined {
    return this.#foundOf.get(directory)
  }

  claim(directory: Directory, found: SnapshotDir): void {
    found.match = directory
    this.#foundOf.set(directory, found)
  }

  release(directory: Directory): void {
    const found = this.#foundOf.get(directory)
    if (found !== undefined) found.match = undefined
    this.#foundOf.delete(directory)
  }

  /** `known`: what is believed to be at its place. */
  match(found: SnapshotDir, known: Directory | undefined): void {
    const { listing, mount } = found
    if (listing === undefined) return
    const { wd } = listing
    const { matchByName, since } = this.#options
    const isThere = known?.mount === mount && (mount.base === known) === found.isBase
    if (known !== undefined && isThere && !this.#foundOf.has(known)) {
      // What could not be opened has no number but that which its parent shows. 0: nobody has seen it, so nothing says that it is another.
      const ino = (listing.error === 0 ? undefined : found.asEntry?.ino) ?? listing.ino
      if (matchByName || known.ino === ino || known.ino === 0 || ino === 0) {
        this.claim(known, found)
        return
      }
    }
    // A watch is its inode's: two directories cannot have one.
    const watched =
      wd > 0 ? this.#tree.at(wd).find((each) => each.mount === mount && !this.#foundOf.has(each)) : undefined
    if (watched !== undefined) {
      this.claim(watched, found)
      return
    }
    const entry = found.asEntry
    const sameIno = entry === undefined ? undefined : this.#withIno(mount, listing.ino)
    if (sameIno === undefined || entry === undefined || this.#foundOf.has(sameIno)) return
    // Two that have watches, and not the same, are two.
    const isAnother = wd > 0 && sameIno.wd > 0
    // What has a watch above it leaves by an event, which a listing may be older than.
    const isTold = !mount.usesPolling && sameIno.parent !== undefined && sameIno.parent.wd > 0
    if (!isAnother && !isTold && moved(sameIno, entry, mount.usesPolling ? 0 : since))
      this.claim(sameIno, found)
  }

  #withIno(mount: WatchedMount, ino: number): Directory | undefined {
    let byIno = this.#byIno.get(mount)
    if (byIno === undefined) {
      byIno = new Map()
      for (const each of this.#unwatched(mount)) byIno.set(each.ino, each)
      this.#byIno.set(mount, byIno)
    }
    const found = byIno.get(ino)
    return found?.mount === mount ? found : undefined
  }

  /** Where watches tell one directory from another, nobody walks through all that is believed to find those that have none. */
  #unwatched(mount: WatchedMount): Iterable<Directory> {
    const { base, uncovered } = mount
    if (!mount.usesPolling && !this.#options.isSaved) return uncovered.keys()
    return base === undefined ? [] : this.#tree.within(base)
  }
}

/** Finds where arrivals come from, among what is not where it was. Answers those that left, with where they have gone. */
export function matchArrivals(
  arrivals: Iterable<Added>,
  gone: readonly Removed[],
  since: number,
): Map<Removed, Added> {
  const byIno = new Map<number, Removed[]>()
  for (const origin of gone) {
    // Never seen, so it cannot be recognised.
    if (origin.entry.ino === 0) continue
    const same = byIno.get(origin.entry.ino)
    if (same === undefined) byIno.set(origin.entry.ino, [origin])
    else same.push(origin)
  }
  const matched = new Map<Removed, Added>()
  if (byIno.size === 0) return matched
  for (const arrival of arrivals) {
    const same = byIno.get(arrival.entry.ino) ?? []
    // Hard links that all moved: which went where makes no difference.
    const at = same.findLastIndex(
      ({ directory, entry }) => isSameMount(directory, arrival) && moved(entry, arrival.entry, since),
    )
    const [origin] = at < 0 ? [] : same.splice(at, 1)
    if (origin === undefined) continue
    arrival.from = origin
    matched.set(origin, arrival)
  }
  return matched
}

/** Inode numbers are those of a filesystem. */
function isSameMount({ mount }: Directory, { at }: Added): boolean {
  return mount.mountId === at.listing?.mountId
}
