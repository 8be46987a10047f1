import { InotifyError } from '../../src/index.ts'

/** Why a script cannot be played yet: watch() says so. To be removed with the last of it. */
export function notYet(error: unknown): string | undefined {
  if (!(error instanceof InotifyError)) return undefined
  return error.hint.includes('not supported yet') ||
    error.hint.startsWith('there is no such directory') ||
    error.hint.startsWith('watch() takes')
    ? `not yet: ${error.hint}`
    : undefined
}
