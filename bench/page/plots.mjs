// The plots of the results: the data of each, and their form (Vega-Lite). Each watcher has the same colour in
// every plot.

/**
 * @typedef {object} Results  The output of `npm run bench -- --json`.
 * @property {Record<string, string | number>} host
 * @property {Array<ReturnType<typeof import('../report.mjs').asData>>} questions
 *
 * @typedef {object} Plot
 * @property {string} name
 * @property {string} title
 * @property {string} says  A description for readers who do not see the plot.
 * @property {string} question
 * @property {(medians: Medians) => Array<{ watcher: string, value?: number | null | undefined }>} values
 * @property {(watchers: string[]) => object} spec  Takes the watchers that have values.
 *
 * @typedef {Record<string, Record<string, number | null>>} Medians  By subject and figure; null without a value.
 */

/** @type {Record<string, string>} */
const COLOURS = {
  'inotify-bridge': '#2f81f7',
  'inotify-bridge, again': '#2f81f7',
  Inotify: '#2f81f7',
  '/inotify': '#2f81f7',
  '/watch': '#2f81f7',
  'raw C': '#8b949e',
  'raw C + window': '#b1a37f',
  'fs.watch': '#db6d28',
  '@parcel/watcher': '#a371f7',
  chokidar: '#3fb950',
  watchpack: '#f85149',
  inotifywait: '#d4a72c',
  'Go fsnotify': '#1aa7b8',
  'Rust notify': '#bf4b8a',
  'its start': '#8b949e',
  'its recovery': '#2f81f7',
  'C: asks of each file': '#b1a37f',
}

/** Marks watchers that have lost events: lost events cost no time. */
const LOST = ' (lost some)'

/** @param {string[]} watchers */
const colour = (watchers) => ({
  field: 'watcher',
  title: null,
  scale: { domain: watchers, range: watchers.map((name) => COLOURS[name.replace(LOST, '')]) },
})

/**
 * Returns the values of subjects "WATCHER, SIZE".
 *
 * @param {Medians} medians @param {string} figure @param {string} unit
 */
const bySize = (medians, figure, unit = '') =>
  Object.entries(medians).flatMap(([subject, figures]) => {
    const [watcher = '', size = ''] = subject.split(', ')
    const value = figures[figure]
    return value == null ? [] : [{ watcher, size: Number(size.replace(unit, '')), value }]
  })

/** @param {string} x @param {string} y */
const lines = (x, y) => (/** @type {string[]} */ watchers) => ({
  mark: { type: 'line', point: { filled: true, size: 45 }, strokeWidth: 2.5 },
  encoding: {
    x: {
      field: 'size',
      type: 'quantitative',
      title: x,
      scale: { type: 'log', nice: false, padding: 12 },
      axis: { format: '~s', grid: false },
    },
    y: { field: 'value', type: 'quantitative', title: y, scale: { type: 'log' }, axis: { format: '~g' } },
    color: colour(watchers),
  },
})

/** @param {string} x @param {string} format */
const bars = (x, format) => (/** @type {string[]} */ watchers) => ({
  encoding: {
    x: { field: 'value', type: 'quantitative', title: x },
    y: { field: 'watcher', type: 'nominal', title: null, sort: null },
  },
  layer: [
    {
      mark: { type: 'bar', height: { band: 0.7 } },
      encoding: { color: { ...colour(watchers), legend: null } },
    },
    { mark: { type: 'text', align: 'left', dx: 4 }, encoding: { text: { field: 'value', format } } },
  ],
})

/** @type {Plot[]} */
export const PLOTS = [
  {
    name: 'latency',
    title: 'How late is a lone event?',
    says: 'of the events of each watcher, the share that came at most so many microseconds after the write',
    question: 'latency',
    values: (medians) =>
      Object.entries(medians).flatMap(([watcher, figures]) =>
        Object.entries(figures)
          .filter(([figure]) => figure.startsWith('at '))
          .map(([figure, value]) => ({ watcher, share: Number(figure.slice(3)), value })),
      ),
    spec: (watchers) => ({
      mark: { type: 'line', strokeWidth: 2.5, interpolate: 'monotone' },
      encoding: {
        x: {
          field: 'value',
          type: 'quantitative',
          title: 'us, from before the write to the listener',
          scale: { type: 'log', nice: false },
        },
        y: { field: 'share', type: 'quantitative', title: 'of the events', axis: { format: '%' } },
        order: { field: 'share' },
        color: colour(watchers),
      },
    }),
  },
  {
    name: 'delivered',
    title: 'What is left of 200,000 events made while the loop is blocked for 2 s?',
    says: 'the share of the events that each watcher delivers',
    question: 'blocked-loop',
    values: (medians) =>
      Object.entries(medians)
        .filter(([watcher]) => watcher in COLOURS)
        .map(([watcher, { delivered }]) => ({ watcher, value: delivered })),
    spec: bars('% delivered', '.1f'),
  },
  {
    name: 'set_up',
    title: 'How soon is a tree watched?',
    says: 'the time until a tree is watched, by the number of its directories, for each watcher',
    question: 'growth',
    values: (medians) => bySize(medians, 'ready'),
    spec: lines('directories, of 4 files each', 'ms'),
  },
  {
    name: 'memory',
    title: 'What does it take to remember a tree?',
    says: 'the memory that the process has grown by, by the number of directories, for each watcher',
    question: 'growth',
    values: (medians) => bySize(medians, 'memory'),
    spec: lines('directories, of 4 files each', 'MiB'),
  },
  {
    name: 'recovery',
    title: 'How soon is a tree recovered of which events were lost?',
    says: 'the time that watch() takes to recover, that its start took, and that C takes to ask for each file, by the number of directories',
    question: 'recovery',
    values: (medians) =>
      [
        { of: 'inotify-bridge', figure: 'ready', watcher: 'its start' },
        { of: 'inotify-bridge', figure: 'recovery', watcher: 'its recovery' },
        { of: 'raw C', figure: 'recovery', watcher: 'C: asks of each file' },
      ].flatMap(({ of, figure, watcher }) =>
        bySize(medians, figure)
          .filter((point) => point.watcher === of)
          .map((point) => ({ ...point, watcher })),
      ),
    spec: lines('directories, of 4 files each', 'ms'),
  },
  {
    name: 'rates',
    title: 'What of a core does a watch take?',
    says: 'the share of a core that each watcher takes, by the rate of events',
    question: 'rates',
    values: (medians) => bySize(medians, 'of a core', '/s'),
    spec: lines('events a second', '% of a core'),
  },
  {
    name: 'burst',
    title: 'What does each of 50,000 new files cost?',
    says: 'the processor time for each file, for each watcher',
    question: 'burst',
    values: (medians) =>
      Object.entries(medians).map(([watcher, { cpu, told }]) => ({
        watcher: (told ?? 0) < 100 ? `${watcher}${LOST}` : watcher,
        value: cpu,
      })),
    spec: bars('us of CPU', '.1f'),
  },
  {
    name: 'imports',
    title: 'What does an import take?',
    says: 'the time that an import takes in a fresh process, for each package',
    question: 'imports',
    values: (medians) =>
      Object.entries(medians)
        .filter(([watcher]) => watcher in COLOURS)
        .map(([watcher, figures]) => ({ watcher, value: figures.import })),
    spec: bars('ms', '.1f'),
  },
]
