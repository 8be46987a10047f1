import type { PollContext } from '../poll/context.ts'
import type { PollScope } from '../poll/poll_scope.ts'
import type { Attacher } from '../roots/attach.ts'
import type { FileAttacher } from '../roots/file_attacher.ts'
import type { CoveredRoots } from '../roots/forest/covered_roots.ts'
import type { SavedRoots } from '../roots/forest/saved_roots.ts'

/** The objects of the other rooms, which `engine/` may all use. */
export interface EngineContext extends PollContext {
  readonly pollScope: PollScope
  readonly attacher: Attacher
  readonly fileAttacher: FileAttacher
  readonly coveredRoots: CoveredRoots
  readonly savedRoots: SavedRoots
}
