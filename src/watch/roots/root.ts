import type { RootChange, Source } from '../report/change.ts'
import type { Directory, WatchedMount } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { FileRoot } from './file_root.ts'

const NONE: ReadonlySet<WatchedMount> = new Set()

/** A path that is watched: what it stands for, and whether it does. */
export class Root {
  /** Absolute. */
  readonly path: string
  /** What is believed of the directory at this path. Stays while it is lost, to compare with what is there when it is restored. */
  top: Directory | undefined
  /** The root in whose tree it lies: that one tells of all in there, and its own top is a directory of that tree. See RootForest. */
  coverer: Root | undefined
  /** Instead of it, where the path leads to no directory. */
  file: FileRoot | undefined
  /** Its own mount, while it tells of anything itself. */
  mount: WatchedMount | undefined
  /** False from 'lost' to 'restored', before it has come for the first time, and after it was removed. */
  isPresent = false
  /** From 'overflow' to 'recovered'. */
  isOverflown = false
  /** Which directory it is, whatever its path. */
  identity = ''
  /** Where mounts show it: without symlinks. */
  realPath = ''
  /** ms since the epoch: what was changed from then on was not told. */
  consistentUntil = 0
  /** Why it is not there. */
  absence: Error | undefined

  constructor(path: string) {
    this.path = path
  }

  /** Its own mount, and those below it. */
  get mounts(): ReadonlySet<WatchedMount> {
    return this.mount?.family ?? NONE
  }

  /** All that was listed of it before is out of date. */
  outdate(): void {
    for (const mount of this.mounts) mount.epoch++
  }

  /** Forgets those of mounts and links that are gone. */
  dropMounts(tree: Tree): void {
    for (const mount of this.mounts) {
      const { base } = mount
      if (base !== undefined && !tree.isAttached(base)) mount.leave()
    }
  }
}

export function aboutRoot(type: RootChange['type'], root: Root, source: Source): RootChange {
  return { type, path: root.path, source }
}
