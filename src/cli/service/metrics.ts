// By hand, since it is this short: prom-client would be a second run-time dependency, for a dozen metrics.

/** Media type of Prometheus' text format. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** A value, by its labels. */
export type Sample = readonly [labels: Readonly<Record<string, string>>, value: number]

/** Metrics in Prometheus' text format (exposition_formats), whose names all begin with `inotify_bridge_`. */
export class Metrics {
  readonly #prefix: string
  #text = ''

  /** @param of the command */
  constructor(of: string) {
    this.#prefix = `inotify_bridge_${of}_`
  }

  /** A name that ends in `_total` is a counter's, each other a gauge's. */
  add(name: string, help: string, value: number | readonly Sample[]): this {
    const full = this.#prefix + name
    const type = name.endsWith('_total') ? 'counter' : 'gauge'
    const samples = typeof value === 'number' ? [[{}, value] as const] : value
    const lines = samples.map(([labels, each]) => `${full}${labelsOf(labels)} ${each}\n`)
    this.#text += `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${lines.join('')}`
    return this
  }

  toString(): string {
    return this.#text
  }
}

function labelsOf(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

/** A path may hold any character but NUL. */
function escapeLabel(text: string): string {
  return text.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`))
}
