import type { Tree } from '../tree/tree.ts'
import type { InotifySource } from './inotify_source.ts'

/** Removes watches that nothing needs any more. An inode has one watch, whatever it is needed for. */
export class WatchRelease {
  readonly #tree: Pick<Tree, 'retired'>
  readonly #inotify: Pick<InotifySource, 'has' | 'retire'>
  #held: Set<number> | undefined

  constructor(tree: Pick<Tree, 'retired'>, inotify: Pick<InotifySource, 'has' | 'retire'>) {
    this.#tree = tree
    this.#inotify = inotify
  }

  /** Removes no watch until {@link letGo}. The first look adds watches that nobody owns until the roots are attached. */
  hold(): void {
    this.#held ??= new Set()
  }

  /** Removes the held watches that nothing needs, when all roots are attached. */
  letGo(): void {
    const held = this.#held ?? []
    this.#held = undefined
    this.retire(held)
  }

  /** Removes the watches among these that nothing needs. */
  retire(wds: Iterable<number>): void {
    for (const wd of wds) {
      if (this.#held !== undefined) this.#held.add(wd)
      else if (!this.#inotify.has(wd)) this.#inotify.retire(wd)
    }
  }

  /** Removes the watches that directories have left. Not before it is known that no dropped directory is found elsewhere. */
  releaseUnused(): void {
    const { retired } = this.#tree
    this.retire(retired)
    retired.clear()
  }
}
