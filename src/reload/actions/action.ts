import type { Readable } from 'node:stream'

export interface ActionContext {
  /** The digest of the content for which the action is done. */
  readonly digest: string
  /** Aborts when the action is to end. The reason's message says why, after the subject: 'timed out after 300 ms'. */
  readonly signal: AbortSignal
  /**
   * Called when there is a child, before it can have ended; `ended` resolves when it has been waited for: to how it has ended by itself, if
   * it was to go on, else to ''.
   */
  readonly onChild?: (pid: number, ended: Promise<string>) => void
  /** Given what a program writes to its stdout and stderr. */
  readonly onOutput?: ((stream: Readable, name: 'stdout' | 'stderr') => void) | undefined
}

/** Does the action once. Throws an Error whose message says why it could not: an ActionError if there was output. */
export type Action = (context: ActionContext) => Promise<void>
