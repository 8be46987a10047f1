import type { TaskQueue } from '../../task_queue.ts'
import type { EventHandler } from '../events/event_handler.ts'
import type { FollowUp } from '../events/follow_up.ts'
import type { FileRoots } from '../roots/file_roots.ts'
import type { ForestContext } from '../roots/forest/context.ts'
import type { FollowedLinks } from '../roots/links/followed_links.ts'
import type { RootMonitor } from '../roots/root_monitor.ts'
import type { PollInterval } from './poll_interval.ts'
import type { PollRound } from './poll_round.ts'

/** The objects that `poll/` may use. */
export interface PollContext extends ForestContext {
  /** Runs all tasks that change the tree, one at a time. */
  readonly queue: TaskQueue
  readonly events: EventHandler
  readonly followUp: FollowUp
  readonly files: FileRoots
  readonly links: FollowedLinks
  readonly rootMonitor: RootMonitor
  readonly pollInterval: PollInterval
  /** undefined: polls have no budget, and each is of everything. */
  readonly pollRound: PollRound | undefined
}
