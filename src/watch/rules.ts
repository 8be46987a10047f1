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
  /** Whether what lies deep is hidden: then a root within another one's tree shows more of that. */
  readonly hidesDepths: boolean
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
    hidesDepths,
    hides: (path, kind) => (hidesDepths && isTooDeep(path)) || (current?.(textOf(path), kind) ?? false),
    replaceIgnores: (others) => {
      current = others
    },
  }
}
