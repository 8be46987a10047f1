import { textOf } from '../name_key.ts'
import type { Settings } from './options.ts'
import type { Kind } from './report/change.ts'

/** What is watched of what is there: as the options have it, and never otherwise. */
export interface Rules {
  /** Whether directories within directories are watched. */
  readonly recursive: boolean
  /** Whether symlinks to directories are taken for them. */
  readonly followsLinks: boolean
  readonly hidesSome: boolean
  /** Whether what would have this path is not to be reported. Paths are keys: see name_key.ts. */
  hides(path: string, kind: Kind): boolean
}

export function rulesOf({ recursive, followSymlinks, ignores }: Settings): Rules {
  return {
    recursive,
    followsLinks: followSymlinks,
    hidesSome: ignores !== undefined,
    hides: (path, kind) => ignores?.(textOf(path), kind) ?? false,
  }
}
