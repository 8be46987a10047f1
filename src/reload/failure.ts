/** A failed validation or action, with the output of the program or the answer of the server. */
export interface ReloadFailure {
  /** The step that failed. */
  stage: 'validate' | 'action'
  /** One sentence, with the fix where it is known. */
  reason: string
  /** The end of the output, or the beginning of the answer: 64 KiB at most. */
  output: string
}

/** A validation or an action that failed: its message is the {@link ReloadFailure.reason}. */
export class ActionError extends Error {
  override readonly name = 'ActionError'
  readonly output: string

  constructor(reason: string, output = '') {
    super(reason)
    this.output = output
  }
}

/** Bytes that are kept of the end of what a program writes, or the beginning of what a server answers. */
export const OUTPUT_BYTES = 64 * 1024
