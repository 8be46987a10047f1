import type { Mirror } from '../../mirror/mirror.ts'
import type { Skipped } from '../../mirror/plan/tree.ts'
import type { Summary } from '../../mirror/prepare.ts'
import { fieldsOf, listed, type Report, tell } from '../shared/output.ts'
import { lackingIn } from './start.ts'

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
  const stateText = () => {
    const { state, reason, isHeld, summary } = mirrored
    if (state === 'over-limit') return overLimitText(reason, isHeld, summary.target.path)
    return reason === '' ? state : `${state}: ${reason}`
  }
  // The outcome of the first pass is told here, and everything later by events.
  const { state, reason, summary } = mirrored
  const first =
    state === 'mirroring' ? `${summaryText(summary)}; ${lackingIn(mirrored) ?? 'ready'}` : stateText()
  report('state', { state, ...(reason && { reason }) }, asKnown(first))
  const reportSkipped = (skipped: Skipped) =>
    report('skipped', skipped, `skipped ${skipped.path}: ${skipped.reason}`)
  for (const skipped of mirrored.skipped) reportSkipped(skipped)

  mirrored.on('update', (update) =>
    report('update', update, `update ${update.generation}: ${listed(update.changed)}`),
  )
  mirrored.on('skipped', reportSkipped)
  mirrored.on('state', (state, reason) => {
    if (state !== 'closed') report('state', { state, reason }, asKnown(stateText()))
  })
  mirrored.on('error', (error) => {
    const { path, ...fields } = fieldsOf(error)
    const text = `${asKnown(error.message)}: the last good version is kept, and each pass tries again`
    tell(text, 'error', { ...fields, path: path && asKnown(path) })
  })
}

/** Returns the line about a source over the limits: the excess, the outcome, and the flags that raise the limits. */
export function overLimitText(reason: string, isHeld: boolean, target: string): string {
  const flags = flagsOf(reason)
  const outcome = isHeld ? 'keeps its last version' : 'has links, without events'
  return `over-limit: ${reason}: ${target} ${outcome}${flags && ` (${flags})`}`
}

/** Returns the flags that raise the limits named in a reason, '' if none does. */
export function flagsOf(reason: string): string {
  const limits = ['files', 'bytes'].filter((name) => reason.includes(` ${name}, at most`))
  return limits.map((name) => `--max-${name}`).join(' and ')
}

function summaryText({ sources, target, interval, keys }: Summary): string {
  const from = sources.map(
    ({ path, type }) => `${path} (${type ? `${type}, ` : ''}polled every ${interval} ms)`,
  )
  const to = target.path + (target.type ? ` (${target.type})` : '')
  return `mirroring ${listed(from)} to ${to}: ${keys} ${keys === 1 ? 'key' : 'keys'}`
}
