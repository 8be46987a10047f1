import type { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { DirtySet } from './dirty_set.ts'
import { PendingMoves } from './pending_moves.ts'
import { RecentScans } from './recent_scans.ts'
import { RecheckQueue } from './recheck_queue.ts'

/** All that is still to be looked at, or may still be reported otherwise. Data only: adding to it calls nothing. */
export class Pending {
  readonly moves: PendingMoves
  readonly scans = new RecentScans()
  readonly rechecks = new RecheckQueue()
  readonly work = new DirtySet()
  /** Directories between which others have moved. */
  readonly movedBetween = new Set<Directory>()
  readonly failed = new DirtySet()
  /** ms since the epoch: all changes before have been reported. */
  consistentUntil: number

  constructor(tree: Tree, now: number) {
    this.consistentUntil = now
    this.moves = new PendingMoves(tree)
  }
}
