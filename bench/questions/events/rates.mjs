// Asks for the cost of a watch at a steady rate of events.
import { untilItSawTheLast } from '../../children.mjs'
import { Series } from '../../series.mjs'

const RATES = [100, 1_000, 10_000, 100_000]
const MS = 2_000
const WATCHERS = [
  'raw C',
  'raw C + window',
  'inotify-bridge',
  'fs.watch',
  'inotifywait',
  'Go fsnotify',
  'Rust notify',
]
const series = new Series(
  WATCHERS.flatMap((watcher) => RATES.map((size) => ({ watcher, size }))),
  '/s',
)

/** @type {import('../../question.mjs').Question} */
export const rates = {
  name: 'rates',
  asks: `What of a core does a watch take, at ${RATES[0]} to ${RATES.at(-1)} events a second?`,
  note: 'User and system time of the whole process, by the time of the load; of inotifywait without that of who reads what it prints.',
  rounds: 3,
  subjects: series.subjects,
  figures: [
    { name: 'of a core', unit: '%', digits: 2 },
    { name: 'cpu', unit: 'ns/event', digits: 0 },
    { name: 'delivered', unit: '%', digits: 1, least: 100 },
  ],
  targets: [],

  async measure(subject, { scratch, children }) {
    const { watcher, size: rate } = series.at(subject)
    const directory = scratch.newDirectory()
    const writer = children.startWriter('paced', directory, rate, MS)
    await writer.next()
    const reader = children.startCounting(watcher, directory)
    await reader.next()
    writer.go()
    const { events } = await writer.next()
    const { delivered, cpuMs } = await untilItSawTheLast(directory, reader.next())
    return {
      'of a core': (cpuMs / MS) * 100,
      cpu: (cpuMs * 1e6) / delivered,
      delivered: (delivered / events) * 100,
    }
  },
}
