import type { Kind } from './change.ts'

/** Something that is there, as far as has been told: see {@link Watcher.entries}. */
export interface Entry<Path extends string | Buffer = string> {
  /** Absolute. */
  path: Path
  kind: Kind
}
