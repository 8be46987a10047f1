import type { PollContext } from '../poll/context.ts'
import type { PollScope } from '../poll/poll_scope.ts'
import type { Attacher } from '../roots/attach.ts'
import type { FileAttacher } from '../roots/file_attacher.ts'
import type { CoveredRoots } from '../roots/forest/covered_roots.ts'
import type { SavedRoots } from '../roots/forest/saved_roots.ts'
import type { Root } from '../roots/root.ts'
import type { RepeatingTask } from './repeating_task.ts'

/** The objects that `engine/` may use. */
export interface EngineContext extends PollContext {
  /** Roots by their paths, to be written by `engine/` alone. */
  readonly byPath: Map<string, Root>
  /** The paths that the caller has named, in the caller's order. */
  readonly asked: Set<string>
  readonly polls: RepeatingTask
  readonly pollScope: PollScope
  readonly attacher: Attacher
  readonly fileAttacher: FileAttacher
  readonly coveredRoots: CoveredRoots
  readonly savedRoots: SavedRoots
}
