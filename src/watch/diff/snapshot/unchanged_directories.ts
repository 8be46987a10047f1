import type { Chunk } from '../../scan/chunk.ts'
import type { Taker } from '../../scan/listing.ts'
import type { Directory } from '../../tree/directory.ts'
import type { Tree } from '../../tree/tree.ts'

/**
 * Leaves out of a scan the directories of which it has found just what the first walk did, byte for byte: of a large tree these are nearly
 * all, and no object is made of any of them. Only what no event has ever spoken of is still kept as the walk has found it.
 */
export class UnchangedDirectories implements Taker {
  readonly #tree: Tree
  // By the id of the listing.
  #wds = new Int32Array(4096)
  readonly #unchanged = new Set<number>()

  constructor(tree: Tree) {
    this.#tree = tree
  }

  take(chunk: Chunk, at: number): boolean {
    const wd = chunk.wdAt(at)
    const parent = chunk.parentAt(at)
    this.#note(chunk.idAt(at), wd)
    if (parent < 0 || !chunk.isPlainAt(at)) return false
    if (!this.#tree.isAsKept(this.#wds[parent] as number, chunk, at)) return false
    this.#unchanged.add(wd)
    return true
  }

  /** Whether it was found where it is believed to be, and as it is believed to be. */
  has({ wd }: Directory): boolean {
    return wd !== 0 && this.#unchanged.has(wd)
  }

  /** One that was left out, by the id of its listing. */
  directoryOf(id: number): Directory | undefined {
    const wd = this.#wds[id] ?? 0
    // What is kept so is watched by one path: a second one would have made it.
    return this.#unchanged.has(wd) ? this.#tree.at(wd)[0] : undefined
  }

  /** Ids count from the first of each walk. */
  begin(): void {
    this.#wds.fill(0)
  }

  #note(id: number, wd: number): void {
    if (id >= this.#wds.length) {
      const longer = new Int32Array(2 * id)
      longer.set(this.#wds)
      this.#wds = longer
    }
    this.#wds[id] = wd
  }
}
