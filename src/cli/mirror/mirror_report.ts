import type { Mirror } from '../../mirror/mirror.ts'
import { listed, type Report } from '../service/report.ts'
import { tell } from '../shared/output.ts'

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
    report('update', update, `update ${update.generation}: ${listed(update.changed)}`),
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
