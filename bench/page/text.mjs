// The page's words and tables: a part for each question.
import { marked } from '../report.mjs'

/**
 * @param {import('./plots.mjs').Results} results
 * @param {import('./plots.mjs').Plot[]} plots
 */
export function asPage({ host, questions }, plots) {
  return `# Benchmarks

The cost of inotify-bridge, beside others that do the same and beside a C program that does nothing but read(2). \`npm run bench:page\` makes this page of
\`bench/results.json\`, which \`npm run bench -- --json\` has printed.

Measured on ${host.date}: Linux ${host.kernel}, Node ${host.node}, ${host.cpus} x ${host.model}, fs.inotify.max_queued_events ${host.maxQueuedEvents}; ${host.peers}.${host.leftOut ? ` Left out, as it was not installed: ${host.leftOut}.` : ''}
The subjects of a question are measured by turns, in processes of their own; a figure is the median of its rounds, and a ratio the median of the ratios of each round.
The machine is small and shared: look at the ratios, not at absolute times. Where half of the rounds differ by more than a fifth, the page says so.
"Lost some": it missed events, so its time is not comparable.

${questions
  .map((question) =>
    partOf(
      question,
      plots.filter((plot) => plot.question === question.name),
    ),
  )
  .join('\n')}`
}

/**
 * @param {import('./plots.mjs').Results['questions'][number]} question
 * @param {import('./plots.mjs').Plot[]} plots
 */
function partOf(question, plots) {
  const { name, asks, note, figures, medians, ratios, targets, rounds } = question
  const shown = figures.filter((figure) => !figure.isForPlot)
  const head = shown.flatMap((figure) => [
    [figure.name, figure.unit].filter(Boolean).join(', '),
    ...(figure.ratiosTo ?? []).map((other) => `/ ${other}`),
  ])
  const rows = Object.keys(medians).map((subject) => [
    marked(subject, shown, medians[subject]),
    ...shown.flatMap((figure) => [
      asNumber(medians[subject]?.[figure.name], figure.digits),
      ...(figure.ratiosTo ?? []).map((other) => asNumber(ratios[subject]?.[figure.name]?.[other], 2)),
    ]),
  ])
  return [
    `## ${name}`,
    '',
    `${asks} Medians of ${rounds.length} rounds.`,
    ...plots.flatMap((plot) => ['', `![${plot.title} ${plot.says}](benchmarks/${plot.name}.svg)`]),
    '',
    `| | ${head.join(' | ')} |`,
    `|---|${head.map(() => '---:').join('|')}|`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
    ...(note === undefined ? [] : ['', note.replaceAll('\n', ' ')]),
    ...(targets.length === 0 ? [] : ['', ...targets.map((target) => `- ${asked(target)}`)]),
    '',
  ].join('\n')
}

/** @param {number} value */
const rounded = (value) => Number(value.toPrecision(3))

/** @param {number | null | undefined} value  null as JSON has NaN. @param {number} digits */
const asNumber = (value, digits) => (value == null ? '' : value.toFixed(digits))

/** @param {import('../question.mjs').Verdict} target */
function asked({ subject, figure, by, byFigure, atLeast, atMost, measured, met, spread, limit, ofLimit }) {
  const bounds = [
    atLeast === undefined ? [] : `at least ${atLeast}`,
    atMost === undefined ? [] : `at most ${atMost}`,
  ].flat()
  const others = [
    byFigure === undefined ? [] : ` by ${byFigure}`,
    by === undefined ? [] : ` by that of ${by}`,
  ]
  const noise = spread === undefined ? '' : ` (half of the rounds: ${spread.map(rounded).join(' to ')})`
  const beside = ofLimit === undefined ? '' : ` ${limit} itself: ${rounded(ofLimit)}.`
  return `${met ? 'Met' : '**Not met**'}: ${subject}, ${figure}${others.flat().join('')}: ${rounded(measured)}${noise}, asked ${bounds.join(' and ')}.${beside}`
}
