import type { Kind } from './change.ts'

/** An entry of the tree as reported so far: see {@link Watcher.entries}. */
export interface Entry<Path extends string | Buffer = string> {
  /** The absolute path. */
  path: Path
  /** The kind of the entry. */
  kind: Kind
}
