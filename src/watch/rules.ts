import { dirname } from 'node:path'
import { textOf } from '../name_key.ts'
import type { Settings } from './options.ts'
import type { Kind } from './report/change.ts'

/** The rules for what is watched, by the options. The ignores may be replaced: nobody keeps answers for later. */
export interface Rules {
  /** True: directories within directories are watched. */
  readonly recursive: boolean
  /** True: symlinks to directories are taken for directories. */
  readonly followsLinks: boolean
  /** True: a root that is a symlink is the target of that. */
  readonly followsRoots: boolean
  /** True: some entries are hidden, or watches are limited: walks go level by level. */
  readonly hidesSome: boolean
  /** True: an entry is hidden or not by the root that it lies below. Then a root within another one's tree shows more, or less. */
  readonly hidesByRoot: boolean
  /** Returns true if an entry with this path is not to be reported. Paths are keys: see name_key.ts. */
  hides(path: string, kind: Kind): boolean
}

/**
 * Returns the rules, for the engine, which replaces the ignores and has all looked through again.
 *
 * @param isRoot tells if there is a root with this path
 */
export function rulesOf(
  { recursive, depth, followSymlinks, followRoots, ignores, maxWatches }: Settings,
  isRoot: (path: string) => boolean,
): Rules & { replaceIgnores(ignores: Settings['ignores']): void } {
  let current = ignores
  const relativeOf = (path: string) => {
    let root = dirname(path)
    while (!isRoot(root) && root !== '/') root = dirname(root)
    return textOf(path.slice(root === '/' ? 1 : root.length + 1))
  }
  // Without `recursive` the targets of links are gone into, unless a depth of 0 is asked for.
  const hidesDepths = (recursive || followSymlinks) && depth !== Number.POSITIVE_INFINITY
  // Counts the directories between the path and the nearest root above.
  const isTooDeep = (path: string) => {
    let between = 0
    for (let each = dirname(path); !isRoot(each); each = dirname(each)) if (++between > depth) return true
    return false
  }
  return {
    recursive,
    followsLinks: followSymlinks,
    followsRoots: followRoots,
    get hidesSome() {
      return current !== undefined || hidesDepths || maxWatches !== undefined
    },
    get hidesByRoot() {
      return hidesDepths || current?.isByRoot === true
    },
    hides: (path, kind) =>
      (hidesDepths && isTooDeep(path)) ||
      current?.has(textOf(path), current.isByRoot ? relativeOf(path) : '', kind) === true,
    replaceIgnores: (others) => {
      current = others
    },
  }
}
