import { printable } from '../errors.ts'
import type { Mirror } from '../mirror/mirror.ts'
import { jsonLine, printJson, printLine, tell } from './output.ts'

/** Tells what has happened: as words, or as one object with `--json`. */
export type Report = (event: string, fields: object, text: string) => void

/** To stdout, a line each. */
export function reportOnStdout(json: boolean): Report {
  return (event, fields, text) => (json ? printJson({ event, ...fields }) : printLine(text))
}

/** To stderr, where stdout is another program's. */
export function reportOnStderr(json: boolean): Report {
  return (event, fields, text) => {
    if (json) process.stderr.write(jsonLine({ event, ...fields }))
    else tell('mirror', printable(text))
  }
}

/**
 * Reports what a mirror does, from the end of its first pass.
 *
 * @param asKnown makes of a message one that names the target as people know it
 */
export function reportMirror(
  mirrored: Mirror,
  report: Report,
  asKnown: (message: string) => string = (message) => message,
): void {
  // What the first pass met is told here, and what comes from now on by events.
  report('state', { state: mirrored.state }, `state ${mirrored.state}`)
  for (const skipped of mirrored.skipped)
    report('skipped', skipped, `skipped ${skipped.path}: ${skipped.reason}`)

  mirrored.on('update', (update) =>
    report('update', update, `update ${update.generation}: ${update.changed.join(' ')}`),
  )
  mirrored.on('skipped', (skipped) =>
    report('skipped', skipped, `skipped ${skipped.path}: ${skipped.reason}`),
  )
  mirrored.on('state', (state, reason) => {
    if (state !== 'closed') report('state', { state, reason }, `state ${state}${reason && `: ${reason}`}`)
  })
  // The last good version stays, and the next pass tries again.
  mirrored.on('error', (error) => tell('mirror', asKnown(error.message)))
}
