import type { Readable } from 'node:stream'
import type { Contents } from '../contents.ts'

/** The content for which the action is done, and what goes with it. */
export interface ActionContext extends Contents {
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

/** Returns the error of a validation or an action that has an {@link ReloadFailure.output}; each other is an Error whose message is the reason. */
export function failureWith(output: Buffer, reason: string): Error {
  return Object.assign(new Error(reason), { output: output.toString() })
}

/** Bytes that are kept of the end of what a program writes, or the beginning of what a server answers. */
export const OUTPUT_BYTES = 64 * 1024
