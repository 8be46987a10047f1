import type { Pending } from '../pending/pending.ts'
import type { Rules } from '../rules.ts'
import type { Tree } from '../tree/tree.ts'
import type { TreeEditor } from '../tree/tree_editor.ts'
import type { DiffOptions } from './diff_options.ts'
import type { MoveMatcher } from './match_moves.ts'
import type { Snapshot } from './snapshot/snapshot.ts'

/** The objects that compare one snapshot with the tree. */
export interface Diff {
  readonly tree: Tree
  readonly rules: Rules
  readonly pending: Pending
  readonly options: DiffOptions
  readonly snapshot: Snapshot
  readonly matching: MoveMatcher
  /** Makes all changes that are reported. */
  readonly editor: TreeEditor
}
