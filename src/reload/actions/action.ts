import type { Readable } from 'node:stream'
import type { TimeLimit } from './time_limit.ts'

export interface ActionContext {
  /** The digest of the content for which the action is done. */
  readonly digest: string
  /** Aborts when the action is to end. */
  readonly limit: TimeLimit
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
