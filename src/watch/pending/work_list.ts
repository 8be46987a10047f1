import type { Kind } from '../report/change.ts'
import type { Directory } from '../tree/directory.ts'

/** What the translation asks of its surroundings. */
export interface Surroundings {
  /** Whether what would have this path is not to be reported. Paths are keys. */
  hides(path: string, kind: Kind): boolean
  readonly hidesSome: boolean
  /** A directory whose entries are to be listed, for the first time or again. */
  list(directory: Directory): void
  /** A symlink has come up. True: where it leads is looked at, and it is told then. */
  follow(directory: Directory, name: string): boolean
  /** What an event said of this name does not fit what is believed: to be looked at when things have settled. */
  doubt(directory: Directory, name: string): void
  /** A directory has come into this one, or has left it. */
  moved(directory: Directory): void
  /** Whether directories within directories are watched. */
  readonly recursive: boolean
  /** Whether symlinks to directories are taken for them. */
  readonly followsLinks: boolean
}
