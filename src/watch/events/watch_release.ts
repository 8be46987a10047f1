import type { Tree } from '../tree/tree.ts'
import type { InotifySource } from './inotify_source.ts'

export interface WatchReleaseParts {
  tree: Pick<Tree, 'hasWatch' | 'retired'>
  inotify(): Pick<InotifySource, 'retire'> | undefined
  /** Whether a watch is needed for something else than a directory of the tree. */
  keeps(wd: number): boolean
}

/** An inode has one watch, whatever it is needed for: it is removed when nothing needs it any more. */
export class WatchRelease {
  readonly #parts: WatchReleaseParts

  constructor(parts: WatchReleaseParts) {
    this.#parts = parts
  }

  /** Removes those of these that nothing needs. */
  retire(wds: Iterable<number>): void {
    const { tree, inotify, keeps } = this.#parts
    for (const wd of wds) if (!tree.hasWatch(wd) && !keeps(wd)) inotify()?.retire(wd)
  }

  /** And those that directories have left: not before it is known that what was dropped is found nowhere else. */
  releaseUnused(): void {
    const { retired } = this.#parts.tree
    this.retire(retired)
    retired.clear()
  }
}
