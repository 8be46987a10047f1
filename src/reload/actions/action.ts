import type { ProgramOptions } from './program.ts'

export interface ActionContext extends ProgramOptions {
  /** Of the content that it is done for. */
  readonly digest: string
}

/** Does what is to be done, once. Throws an Error whose message says why it could not: an ActionError, where something was said. */
export type Action = (context: ActionContext) => Promise<void>
