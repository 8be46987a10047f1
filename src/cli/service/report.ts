import { printable } from '../../errors.ts'
import { jsonLine, printJson, printLine, printsObjects, tell } from '../shared/output.ts'

/** Tells what has happened: as words, or as one object with `--json`. */
export type Report = (event: string, fields: object, text: string) => void

// The most names in a line; an object has all. A directory that others write may have 65,536 a change: megabytes.
const NAMES = 20

/** Joins names for a line of text. */
export function listed(names: readonly string[]): string {
  const more = names.length - NAMES
  return names.slice(0, NAMES).join(' ') + (more > 0 ? ` and ${more} more` : '')
}

/** Reports to stdout, a line each. */
export const report: Report = (event, fields, text) =>
  printsObjects() ? printJson({ event, ...fields }) : printLine(text)

/** Reports to stderr, for commands whose stdout is another program's. */
export const reportOnStderr: Report = (event, fields, text) => {
  if (printsObjects()) process.stderr.write(jsonLine({ event, ...fields }))
  else tell(printable(text), 'info')
}
