import { Metrics } from '../service/metrics.ts'
import type { MirrorStatus } from './mirror_status.ts'

const STATES = ['mirroring', 'over-limit', 'source-lost', 'closed'] as const

/** Returns the answer to `GET /metrics`. */
export function metricsText(status: MirrorStatus, sources: readonly string[], target: string): string {
  const { state, unready, updates, errors, skipped, changedAt } = status
  return new Metrics('mirror')
    .add(
      'info',
      'gauge',
      'What is mirrored.',
      sources.map((source) => [{ source, target }, 1]),
    )
    .add(
      'state',
      'gauge',
      '1 for the state it is in; none before the first pass is over.',
      STATES.map((each) => [{ state: each }, Number(each === state)]),
    )
    .add('ready', 'gauge', 'Whether readers of the target can rely on it.', Number(unready === undefined))
    .add('updates_total', 'counter', 'Times the target has changed since the first pass.', updates)
    .add('errors_total', 'counter', 'Conditions that kept the target from being written.', errors)
    .add(
      'skipped',
      'gauge',
      'Entries of the source that are named as not in the target, at most 101 of each.',
      skipped,
    )
    .add(
      'last_update_timestamp_seconds',
      'gauge',
      'When the target last changed, or the first pass was over; 0 before that.',
      changedAt / 1000,
    )
    .toString()
}
