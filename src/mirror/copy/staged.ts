import type { InotifyError } from '../../errors.ts'
import type { Generation } from '../plan/generation.ts'
import type { Skipped, TargetNode, TargetTree } from '../plan/tree.ts'
import type { Rest } from '../source/rest.ts'

/** A source's part of the target, its new files ready in the staging directory. */
export interface Staged {
  /** All but the generation and `..data`. */
  readonly entries: Map<string, TargetNode>
  /** The generation, by its name in the source; undefined if the source has none, or it could not be had: its keys keep their last good version. */
  readonly generation: Generation | undefined
  /** The entries that should be there, and are not. */
  readonly missing: readonly Missing[]
  /** The paths of missing entries of which the target has no older version either. */
  readonly wanting: ReadonlySet<string>
  /** Copies that could not be written. */
  readonly failures: readonly InotifyError[]
}

/** An entry that could not be copied. */
export interface Missing extends Skipped {
  /** True: the entry is being written, and can be copied at another moment. */
  readonly isPassing: boolean
}

/** The source's part so far, and the findings of the passes before. */
export interface Before {
  readonly target: TargetTree
  /** The source's part of the target, as it added that itself. */
  readonly own: ReadonlyMap<string, TargetNode> | undefined
  /** The source's generation as the target shows it. */
  readonly generation: Generation | undefined
  /** Which paths of the source to read again, though their stat keys have not changed. */
  readonly rest: Rest
}
