import type { LostReason, Source } from '../../report/change.ts'
import { Directory } from '../../tree/directory.ts'
import { aboutRoot, asRestored, type Root } from '../root.ts'
import type { ForestContext } from './context.ts'
import { type Covering, isElsewhere } from './covering.ts'

/**
 * Finds out whether the roots in the trees of other roots are what they were. A covered root adds to the reports of its coverer only that it is lost,
 * restored, overflown or recovered. All of that follows from the tree, without a look at any file.
 */
export class CoveredRoots {
  /** True: a root is lost that lies below another's path. The next event may be of the entry at its path. */
  lacksSome = false
  readonly #context: ForestContext
  // The revisions of the forest and of its trees at the last review.
  #forestRevision = 0
  #treeRevision = 0

  constructor(context: ForestContext) {
    this.#context = context
  }

  /** Reviews the covered roots after each task. Costs nothing while no root is covered, and little while no directory comes or goes. */
  review(): void {
    const { tree, forest, coverings } = this.#context
    const hasChanged = tree.revision !== this.#treeRevision || forest.revision !== this.#forestRevision
    this.#treeRevision = tree.revision
    this.#forestRevision = forest.revision
    for (const root of forest.nested) {
      const { isPresent, isOverflown } = root
      if (isPresent && !hasChanged && root.coverer?.isOverflown === isOverflown) continue
      const coverer = root.file === undefined ? coverings.covererOf(root.path) : undefined
      if (coverer === undefined) continue
      if (root.coverer !== undefined) this.#reviewCovered(root, coverer, hasChanged)
      else if (coverer.isPresent && (hasChanged || !root.isPresent)) {
        const covering = coverings.of(root, coverer)
        if (covering instanceof Directory) this.#absorb(root, coverer, covering)
      }
    }
    this.lacksSome = forest.nested.some(({ isPresent }) => !isPresent)
  }

  #reviewCovered(root: Root, coverer: Root, hasChanged: boolean): void {
    const { reporter } = this.#context
    root.coverer = coverer
    if (root.isPresent && coverer.isOverflown && !root.isOverflown) {
      root.isOverflown = true
      reporter.report([aboutRoot('overflow', root, 'inotify')])
    }
    // A symlink that comes is no directory.
    if (hasChanged || !root.isPresent) this.#compare(root, coverer)
    if (root.isOverflown && !coverer.isOverflown) {
      root.isOverflown = false
      reporter.report([aboutRoot('recovered', root, 'rescan')])
    }
  }

  #compare(root: Root, coverer: Root): void {
    const { forest, coverings } = this.#context
    const covering = coverings.of(root, coverer)
    const found = covering instanceof Directory && coverer.isPresent ? covering : undefined
    if (found !== root.top) forest.lose(root, this.#reasonOf(root, covering), sourceOf(root))
    if (found !== undefined) this.#restore(root, found)
    // A root that was a directory is not restored by a file.
    else if (isElsewhere(covering) || (covering === 'file' && root.top === undefined)) forest.release(root)
  }

  /** Returns the reason why the root's directory is not the one that the coverer has at the path now. */
  #reasonOf({ top, path }: Root, covering: Covering): LostReason {
    const { tree } = this.#context
    if (covering !== 'elsewhere' && covering !== 'nothing') return 'replaced'
    if (top === undefined || !tree.isAttached(top)) return 'deleted'
    return tree.pathOf(top) === path ? 'unreadable' : 'renamed'
  }

  /** Gives a root to another one, which has come to have a directory at its path. */
  #absorb(root: Root, coverer: Root, directory: Directory): void {
    const { forest } = this.#context
    const isAnother = root.top?.ino !== directory.ino
    if (isAnother) forest.lose(root, 'replaced', sourceOf(root))
    forest.absorb(root, coverer)
    this.#restore(root, directory)
  }

  #restore(root: Root, top: Directory): void {
    root.top = top
    if (root.isPresent) return
    root.appear()
    this.#context.reporter.report([asRestored(root)])
  }
}

/** Returns the source of the news that a covered root is not what it was, as far as the tree can tell. */
function sourceOf({ isOverflown, top }: Root): Source {
  if (isOverflown) return 'rescan'
  return top?.mount.usesInotify ? 'inotify' : 'poll'
}
