import type { Backend } from '../../mounts/filesystems.ts'

/** Where the changes of a root come from: see {@link Watcher.coverage}. */
export interface Coverage {
  /** Where it begins: the root, or the mount point below it. */
  path: string
  backend: Backend
  /** One sentence: what the mount's type delivers, or who decided otherwise. */
  why: string
  directories: number
  /** What could not be watched as chosen. */
  uncovered: Array<{ path: string; error: Error }>
}
