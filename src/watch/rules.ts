import { dirname } from 'node:path'
import { textOf } from '../name_key.ts'
import type { Settings } from './options.ts'
import type { Kind } from './report/change.ts'

/** What is watched of what is there, as the options have it. What is ignored may be replaced: nobody keeps what they say for later. */
export interface Rules {
  /** Whether directories within directories are watched. */
  readonly recursive: boolean
  /** Whether symlinks to directories are taken for them. */
  readonly followsLinks: boolean
  /** Whether a root that is a symlink is what that leads to. */
  readonly followsRoots: boolean
  readonly hidesSome: boolean
  /** Whether what is hidden depends on the root that it lies below: then a root within another one's tree shows more, or less. */
  readonly hidesByRoot: boolean
  /** Whether what would have this path is not to be reported. Paths are keys: see name_key.ts. */
  hides(path: string, kind: Kind): boolean
}

/** For who replaces what is ignored, and has all looked through again. */
export interface ReplaceableRules extends Rules {
  replaceIgnores(ignores: Settings['ignores']): void
}

/** @param isRoot whether there is a root of this path */
export function rulesOf(
  { recursive, depth, followSymlinks, followRoots, ignores }: Settings,
  isRoot: (path: string) => boolean,
): ReplaceableRules {
  let current = ignores
  const relativeOf = (path: string) => {
    let root = dirname(path)
    while (!isRoot(root) && root !== '/') root = dirname(root)
    return textOf(path.slice(root === '/' ? 1 : root.length + 1))
  }
  // Without `recursive` what links lead to is gone into, unless a depth of 0 is asked for.
  const hidesDepths = (recursive || followSymlinks) && depth !== Number.POSITIVE_INFINITY
  // How many directories are between it and the nearest root that it lies below.
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
      return current !== undefined || hidesDepths
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
