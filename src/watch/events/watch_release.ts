import type { Tree } from '../tree/tree.ts'
import type { InotifySource } from './inotify_source.ts'

/** Who needs watches for something else than a directory of the tree. */
export interface WatchOwner {
  has(wd: number): boolean
}

/** An inode has one watch, whatever it is needed for: it is removed when nothing needs it any more. */
export class WatchRelease {
  readonly #tree: Pick<Tree, 'hasWatch' | 'retired'>
  readonly #inotify: Pick<InotifySource, 'retire'>
  readonly #owners: readonly WatchOwner[]

  constructor(
    tree: Pick<Tree, 'hasWatch' | 'retired'>,
    inotify: Pick<InotifySource, 'retire'>,
    owners: readonly WatchOwner[],
  ) {
    this.#tree = tree
    this.#inotify = inotify
    this.#owners = owners
  }

  /** Removes those of these that nothing needs. */
  retire(wds: Iterable<number>): void {
    for (const wd of wds) {
      const isNeeded = this.#tree.hasWatch(wd) || this.#owners.some((owner) => owner.has(wd))
      if (!isNeeded) this.#inotify.retire(wd)
    }
  }

  /** And those that directories have left: not before it is known that what was dropped is found nowhere else. */
  releaseUnused(): void {
    const { retired } = this.#tree
    this.retire(retired)
    retired.clear()
  }
}
