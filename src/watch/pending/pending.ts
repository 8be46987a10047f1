import type { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import { DirtySet } from './dirty_set.ts'
import { PendingMoves } from './pending_moves.ts'
import { RecentScans } from './recent_scans.ts'
import { RecheckQueue } from './recheck_queue.ts'

// Files that so many events have told of are told as written once more after an overflow, or when a root is back.
const MOST_UNMARKED = 100

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
  /** The number of events since the last mark in the queue. */
  unmarked = 0

  constructor(tree: Tree, now: number) {
    this.consistentUntil = now
    this.moves = new PendingMoves(tree)
  }

  /** True: a mark in the queue is needed, since something is open, or since an overflow would have too much reported again. */
  get isUnsettled(): boolean {
    const { moves, scans, rechecks, work } = this
    const isOpen = !moves.isEmpty || !scans.isEmpty || !rechecks.isEmpty || work.size > 0
    return isOpen || this.unmarked > MOST_UNMARKED
  }
}
