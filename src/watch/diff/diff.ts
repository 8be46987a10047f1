import type { Pending } from '../pending/pending.ts'
import type { Rules } from '../rules.ts'
import type { RootFinding } from '../scan/listing.ts'
import type { Directory } from '../tree/directory.ts'
import type { Tree } from '../tree/tree.ts'
import type { TreeEditor } from '../tree/tree_editor.ts'
import type { WatchStatus } from '../tree/watch_status.ts'
import type { DiffOptions } from './diff_options.ts'
import type { MoveMatcher } from './match_moves.ts'
import type { Snapshot } from './snapshot/snapshot.ts'

/** The outcome of a scan: of one comparison, or of several if it was taken in in pieces. */
export interface Outcome {
  readonly roots: Map<Directory, RootFinding>
  readonly status: WatchStatus
}

/** The objects that compare one snapshot with the tree. */
export interface Diff extends Outcome {
  readonly tree: Tree
  readonly rules: Rules
  readonly pending: Pending
  readonly options: DiffOptions
  readonly snapshot: Snapshot
  readonly matching: MoveMatcher
  /** Makes all changes that are reported. */
  readonly editor: TreeEditor
}
