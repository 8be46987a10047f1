import type { Skipped } from './plan/tree.ts'

/**
 * The state of a mirror. `'over-limit'`: a source is beyond the limits. `'source-lost'`: a source cannot be reached, its mount is gone, or it has not answered for 5 s; the target keeps the last
 * good version, and each pass tries again.
 */
export type MirrorState = 'mirroring' | 'over-limit' | 'source-lost' | 'closed'

/** The events of a {@link Mirror}, with their arguments. */
export interface MirrorEvents {
  /**
   * The target has changed. `changed` names keys as their readers know them (`app.yaml`), not the links behind them; `generation` counts the updates, the first pass's too.
   */
  update: [update: { changed: string[]; generation: number }]
  /** The state is another. `reason` is '' if the state needs none; of several sources it begins with the path of the one that is worst off. */
  state: [state: MirrorState, reason: string]
  /**
   * An entry of the source is not in the target, or not in its present version: of a kind that is not mirrored, unreadable, or
   * being written. Once while that lasts; tried again at every pass. `path` is relative to the source, absolute if there are several.
   */
  skipped: [skipped: Skipped]
  /**
   * The target cannot be written, or two sources have an entry of one name (EEXIST: the first has it). Once for each condition while it lasts; the last good version
   * stays. **Listen to it**: without a listener it is an uncaught exception.
   */
  error: [error: Error]
  /** The mirror is closed. */
  close: []
  /** @internal A look at a source is over, and all that it found has been told. */
  pass: []
}

/** Makes an error that nobody awaits an uncaught exception, as in any EventEmitter. */
export function rethrow(error: unknown): void {
  process.nextTick(() => {
    throw error
  })
}
