import type { Skipped } from './plan/tree.ts'

export type MirrorState = 'mirroring' | 'over-limit' | 'source-lost' | 'closed'

export interface MirrorEvents {
  /** The target has changed; `changed` names what did as its readers know it: `app.yaml`. */
  update: [update: { changed: string[]; generation: number }]
  /** `reason` is '' where the state needs none. */
  state: [state: MirrorState, reason: string]
  /**
   * An entry of the source is not in the target, or not in its present version: of a kind that is not mirrored, unreadable,
   * being written. Once while that lasts; tried again at every pass. `path` is relative to the source, absolute where there are several.
   */
  skipped: [skipped: Skipped]
  /**
   * The target cannot be written, or two sources have an entry of one name (EEXIST). Once for each condition, until it has passed; what
   * is there stays the last good version.
   */
  error: [error: Error]
  close: []
  /** @internal A look at a source is over, and all that it found has been told. */
  pass: []
}
