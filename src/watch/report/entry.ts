import type { Kind } from './change.ts'
import type { Stat } from './stat.ts'

/** Something that is there, as far as has been told: see {@link Watcher.entries}. */
export interface Entry<Path extends string | Buffer = string> {
  /** Absolute. */
  path: Path
  kind: Kind
  /** With `stat: true`: as it was looked at when it was last told of. Absent where nobody could look. */
  stat?: Stat
}
