import type { MirrorStatus } from './mirror_status.ts'

// By hand, since it is this short: prom-client would be a second run-time dependency, for six metrics.

/** Media type of Prometheus' text format. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

const STATES = ['mirroring', 'over-limit', 'source-lost', 'closed'] as const

/** What `GET /metrics` answers, in Prometheus' text format (exposition_formats). */
export function metricsText(status: MirrorStatus, sources: readonly string[], target: string): string {
  return [
    metric('info', 'gauge', 'What is mirrored.', [
      ...sources.map((source) => sample('info', 1, { source, target })),
    ]),
    metric('state', 'gauge', '1 for the state it is in; none before the first pass is over.', [
      ...STATES.map((state) => sample('state', Number(state === status.state), { state })),
    ]),
    plain(
      'ready',
      'gauge',
      'Whether readers of the target can rely on it.',
      Number(status.unready === undefined),
    ),
    plain('updates_total', 'counter', 'Times the target has changed since the first pass.', status.updates),
    plain('errors_total', 'counter', 'Conditions that kept the target from being written.', status.errors),
    plain('skipped', 'gauge', 'Entries of the source that are not in the target.', status.skipped),
    plain(
      'last_update_timestamp_seconds',
      'gauge',
      'When the target last changed, or the first pass was over; 0 before that.',
      status.changedAt / 1000,
    ),
  ].join('')
}

function plain(name: string, type: string, help: string, value: number): string {
  return metric(name, type, help, [sample(name, value)])
}

function metric(name: string, type: string, help: string, samples: string[]): string {
  return `# HELP inotify_bridge_mirror_${name} ${help}\n# TYPE inotify_bridge_mirror_${name} ${type}\n${samples.join('')}`
}

function sample(name: string, value: number, labels: Record<string, string> = {}): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`)
  return `inotify_bridge_mirror_${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`
}

/** A path may hold any character but NUL. */
function escapeLabel(text: string): string {
  return text.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`))
}
