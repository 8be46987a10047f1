import type { Listing } from '../../scan/listing.ts'
import type { Directory } from '../../tree/directory.ts'
import type { Tree } from '../../tree/tree.ts'
import type { LeftOut } from './scanner.ts'

/**
 * Leaves out of a scan the directories in which the walker has found just what the first walk did, byte for byte: of a large tree these are nearly
 * all, and no object is made of any of them. Only directories that had no event yet are still kept as the walk has found them.
 */
export class UnchangedDirectories implements LeftOut {
  readonly #tree: Tree
  // The wds by the id of the listing.
  #wds: number[] = []
  readonly #unchanged = new Set<number>()

  constructor(tree: Tree) {
    this.#tree = tree
  }

  take(listing: Listing): boolean {
    const { id, parent, wd } = listing
    this.#wds[id] = wd
    if (parent === undefined || !listing.isPlain) return false
    if (!this.#tree.isAsKept(this.#wds[parent] as number, listing)) return false
    this.#unchanged.add(wd)
    return true
  }

  /** Returns true if a directory was found at its known place, with its known entries. */
  has({ wd }: Directory): boolean {
    return wd !== 0 && this.#unchanged.has(wd)
  }

  /** Returns a directory that was left out, by the id of its listing. */
  directoryOf(id: number): Directory | undefined {
    const wd = this.#wds[id] ?? 0
    // A directory kept so is watched by one path: a second path would have made an object of it.
    return this.#unchanged.has(wd) ? this.#tree.at(wd)[0] : undefined
  }

  /** Begins a walk: ids count from 0 again. */
  begin(): void {
    this.#wds = []
  }
}
