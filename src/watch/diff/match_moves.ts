import { type Entry, moved } from '../scan/entry.ts'
import type { Listing } from '../scan/listing.ts'
import { keepsStat } from '../tree/believed_entry.ts'
import { Directory, type WatchedMount } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { Located } from '../tree/tree_editor.ts'
import type { DiffOptions } from './diff_options.ts'
import type { SnapshotDir } from './snapshot/snapshot_dir.ts'

/** An entry that is to get to a place where it was not before. */
export interface Move {
  /** The directory that it was found in, which may be still to get to its own place. */
  to: Directory
  name: string
  /** The entry as found; for a directory, the one in the tree. */
  entry: Entry
  /** undefined: it is new. */
  from: Located | undefined
  /** True: nothing was known of the directory that it was found in, so no other entry has its name. */
  isFree: boolean
  /** For a new directory where another mount begins: the symlink that leads there, if one does. */
  base?: { link: Entry | undefined } | undefined
  isDone: boolean
}

/** Finds the known directory that a found one is, and makes a new one if there is none. Each known directory is given away once. */
export class MoveMatcher {
  readonly #tree: Tree
  readonly #options: DiffOptions
  readonly #foundOf = new Map<Directory, SnapshotDir>()
  readonly #kept = new Set<Directory>()
  readonly #byIno = new Map<WatchedMount, Map<number, Directory>>()

  constructor(tree: Tree, options: DiffOptions) {
    this.#tree = tree
    this.#options = options
  }

  /** Returns true if a directory was found, wherever that is. */
  isFound(directory: Directory): boolean {
    return this.#foundOf.has(directory)
  }

  /** Returns what a known directory was found as. */
  foundAs(directory: Directory): SnapshotDir | undefined {
    return this.#foundOf.get(directory)
  }

  isKept(directory: Directory): boolean {
    return this.#kept.has(directory)
  }

  /** Notes that a directory is where the tree has it, and was not looked into. */
  keep(directory: Directory): void {
    this.#kept.add(directory)
  }

  claim(directory: Directory, found: SnapshotDir): void {
    found.match = directory
    this.#foundOf.set(directory, found)
  }

  /** Matches a found directory. `known`: the directory known at its place. */
  match(found: SnapshotDir, known: Directory | undefined): void {
    const { listing, mount } = found
    if (listing === undefined) return
    const { wd } = listing
    const { matchByName } = this.#options
    const isThere = known?.mount === mount && (mount.base === known) === found.isBase
    if (known !== undefined && isThere && !this.#foundOf.has(known)) {
      // An unopened directory has only the number that its parent shows. 0: never seen, and taken for the known one.
      const ino = (listing.error === 0 ? undefined : found.asEntry?.ino) ?? listing.ino
      if (matchByName || known.ino === ino || known.ino === 0 || ino === 0) {
        this.claim(known, found)
        return
      }
    }
    // A wd belongs to an inode: two directories cannot share one.
    const watched =
      wd > 0 ? this.#tree.at(wd).find((each) => each.mount === mount && !this.#foundOf.has(each)) : undefined
    const moved = watched ?? this.#unwatchedLike(found, listing)
    // A directory cannot lie in itself: the one above has moved, too, and was not looked at.
    if (moved !== undefined && !this.#liesIn(found, moved)) this.claim(moved, found)
    else this.#make(found, listing)
  }

  #unwatchedLike({ mount, asEntry }: SnapshotDir, { wd, ino }: Listing): Directory | undefined {
    const known = asEntry && this.#withIno(mount, ino)
    if (asEntry === undefined || known === undefined || this.#foundOf.has(known)) return undefined
    // Two directories with different wds are two.
    if (wd > 0 && known.wd > 0) return undefined
    // A directory below a watch leaves by an event, which may be newer than the listing.
    if (!mount.usesPolling && known.parent !== undefined && known.parent.wd > 0) return undefined
    return moved(known, asEntry, mount.usesPolling ? 0 : this.#options.since) ? known : undefined
  }

  /** Returns true if it was found below a directory, as far as it is known where the directories above it were found. */
  #liesIn(found: SnapshotDir, directory: Directory): boolean {
    let above = found.parent
    for (let each = above?.match; each !== undefined; ) {
      if (each === directory) return true
      above = this.#foundOf.get(each)
      each = above === undefined ? each.parent : above.parent?.match
    }
    return false
  }

  #make(found: SnapshotDir, listing: Listing): void {
    const made = new Directory(found.name, listing.ino, found.mount)
    const above = found.isBase ? made : found.parent?.match
    if (above !== undefined && keepsStat(above)) made.stat = found.asEntry?.stat ?? listing.owner
    found.isMade = true
    this.claim(made, found)
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

  /** Returns the directories that no watch identifies: only the uncovered ones if watches identify the others, as a walk through the whole tree is costly. */
  #unwatched(mount: WatchedMount): Iterable<Directory> {
    const { base, uncovered } = mount
    if (!mount.usesPolling && !this.#options.isSaved) return uncovered.keys()
    return base === undefined ? [] : this.#tree.within(base)
  }
}

/** Finds where arrived files and the like come from, among the entries that are gone. */
export function matchArrivals(moves: Iterable<Move>, gone: readonly Located[], since: number): void {
  const byIno = new Map<number, Located[]>()
  for (const origin of gone) {
    // Never seen, so it cannot be recognised.
    if (origin.entry.ino === 0) continue
    const same = byIno.get(origin.entry.ino)
    if (same === undefined) byIno.set(origin.entry.ino, [origin])
    else same.push(origin)
  }
  if (byIno.size === 0) return
  for (const move of moves) {
    if (move.entry instanceof Directory) continue
    const same = byIno.get(move.entry.ino) ?? []
    // Hard links that all moved: which went where makes no difference. Inode numbers are those of a filesystem.
    const at = same.findLastIndex(
      ({ directory, entry }) =>
        directory.mount.mountId === move.to.mount.mountId && moved(entry, move.entry, since),
    )
    if (at >= 0) [move.from] = same.splice(at, 1)
  }
}
