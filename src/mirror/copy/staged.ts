import type { InotifyError } from '../../errors.ts'
import type { Skipped, TargetNode, TargetTree } from '../plan/tree.ts'
import type { Emptied } from './stillness.ts'

/** What a source adds to the target, its new files ready in the staging directory. */
export interface Staged {
  /** All but the generation and `..data`. */
  readonly entries: Map<string, TargetNode>
  /** undefined where there is none, or it could not be had: its keys keep their last good version. */
  readonly generation: StagedGeneration | undefined
  /** What should be there, and is not. */
  readonly missing: readonly Missing[]
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
  /** Whether that has been read twice, far enough apart to be sure of it by its stat keys. */
  readonly isConfirmed: boolean
  readonly emptied: Emptied
}
