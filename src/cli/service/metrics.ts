// By hand, since it is this short: prom-client would be a second run-time dependency, for a dozen metrics.

/** A value, by its labels. */
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number]

/** Metrics by their names, each with its help. A name that ends in `_total` is a counter's, each other a gauge's. */
export type Metrics = Readonly<Record<string, readonly [help: string, value: number | readonly Sample[]]>>

/** Returns a command's metrics in Prometheus' text format (exposition_formats), all named `inotify_bridge_COMMAND_...`. */
export function metricsText(command: string, metrics: Metrics): string {
  const texts = Object.entries(metrics).map(([name, [help, value]]) => {
    const full = `inotify_bridge_${command}_${name}`
    const type = name.endsWith('_total') ? 'counter' : 'gauge'
    const samples = typeof value === 'number' ? [[{}, value] as const] : value
    const lines = samples.map(([labels, each]) => `${full}${labelsOf(labels)} ${each}\n`)
    return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${lines.join('')}`
  })
  return texts.join('')
}

function labelsOf(labels: Readonly<Record<string, string>>): string {
  // A path may hold any character but NUL.
  const escaped = (text: string) => text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}
