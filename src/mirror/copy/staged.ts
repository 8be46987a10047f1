import type { InotifyError } from '../../errors.ts'
import type { Skipped, TargetNode, TargetTree } from '../plan/tree.ts'
import type { Doubts } from '../source/doubts.ts'
import type { Emptied } from './stillness.ts'

/** What a source adds to the target, its new files ready in the staging directory. */
export interface Staged {
  /** All but the generation and `..data`. */
  readonly entries: Map<string, TargetNode>
  /** undefined where there is none, or it could not be had: its keys keep their last good version. */
  readonly generation: StagedGeneration | undefined
  /** What should be there, and is not. */
  readonly missing: readonly Missing[]
  /** Paths of what should be there, and of which the target has no older version either. */
  readonly wanting: ReadonlySet<string>
  /** Copies that could not be written. */
  readonly failures: readonly InotifyError[]
  /** For the next pass. */
  readonly emptied: Emptied
}

/** An entry that could not be copied. */
export interface Missing extends Skipped {
  /** Whether it is being written: at another moment it can be. */
  readonly isPassing: boolean
}

/** The directory behind `..data`. */
export interface StagedGeneration {
  /** Its name in the source. */
  readonly from: string
  readonly tree: TargetTree
}

/** What a source has added, and what is known of it, from the passes before. */
export interface Before {
  readonly target: TargetTree
  /** What this source has added to that, as it did itself. */
  readonly own: ReadonlyMap<string, TargetNode> | undefined
  /** What the target shows of this source's generation. */
  readonly generation: StagedGeneration | undefined
  /** The paths of the source to read again, though their stat keys have not changed. */
  readonly doubts: Doubts
  readonly emptied: Emptied
}
