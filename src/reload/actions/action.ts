import type { ProgramOptions } from './program.ts'

export interface ActionContext extends ProgramOptions {
  /** The digest of the content for which the action is done. */
  readonly digest: string
}

/** Does the action once. Throws an Error whose message says why it could not: an ActionError if there was output. */
export type Action = (context: ActionContext) => Promise<void>
