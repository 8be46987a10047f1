// Asks how late a lone event is. A writer stamps CLOCK_MONOTONIC before each write, and the watcher when it
// sees the event: process.hrtime is the same clock.
import { untilItSawTheLast } from '../../children.mjs'
import { quantile } from '../../rounds.mjs'
import { countUntilLast, watchBy } from '../../watchers/one_directory.mjs'

const SAMPLES = 1000

/** The shares of the events of which it is drawn how late they were at the most. */
const CURVE = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99]

/** @param {number} share */
const nameOf = (share) => `at ${share}`

/** @type {import('../../question.mjs').Question} */
export const latency = {
  name: 'latency',
  asks: `How late is a lone event, of ${SAMPLES}, 3 to 7 ms apart?`,
  note: '"the addon alone": of inotify-bridge the addon, which calls a function that does nothing but that. From before the write(2) that caused it to the callback; of Go fsnotify and Rust notify to who takes it from their channel, of inotifywait to who reads what it prints.',
  rounds: 9,
  subjects: [
    'raw C',
    'inotify-bridge',
    'the addon alone',
    'fs.watch',
    'inotifywait',
    'Go fsnotify',
    'Rust notify',
  ],
  figures: [
    { name: 'p50', unit: 'us', digits: 1, ratiosTo: ['raw C', 'fs.watch'] },
    { name: 'p99', unit: 'us', digits: 1, ratiosTo: ['raw C', 'fs.watch'] },
    { name: 'delivered', unit: '%', digits: 1, least: 100 },
    ...CURVE.map((share) => ({ name: nameOf(share), unit: 'us', digits: 1, isForPlot: true })),
  ],
  targets: [
    { subject: 'inotify-bridge', figure: 'p50', by: 'fs.watch', atMost: 1.1, limit: 'the addon alone' },
    { subject: 'inotify-bridge', figure: 'p99', by: 'fs.watch', atMost: 1.1, limit: 'the addon alone' },
    { subject: 'inotify-bridge', figure: 'delivered', atLeast: 100 },
  ],

  async measure(subject, { scratch, children, round }) {
    const directory = scratch.newDirectory()
    const writer = children.startWriter('lone', directory, SAMPLES, round + 1)
    await writer.next()
    const reader =
      subject === 'raw C'
        ? children.startRawReader('latency', directory, SAMPLES)
        : (children.startOutside(subject, 'latency', directory, SAMPLES) ??
          children.startSubject('events/latency', subject, directory))
    await reader.next()
    writer.go()
    /** @type {{ sent: number[] }} */
    const { sent } = await writer.next()
    /** @type {{ received: number[] }} */
    const { received } = await untilItSawTheLast(directory, reader.next())
    const late = sent.map((at, i) => ((received[i] ?? 0) - at) / 1000).filter((us) => us > 0)
    return {
      p50: quantile(late, 0.5),
      p99: quantile(late, 0.99),
      delivered: (late.length / SAMPLES) * 100,
      ...Object.fromEntries(CURVE.map((share) => [nameOf(share), quantile(late, share)])),
    }
  },
}

/** @param {import('../../subject.mjs').Subject} subject */
export async function answer({ watcher, directory, say }) {
  /** The times by the number in the name; 0 for an event that never came. */
  const received = Array(SAMPLES).fill(0)
  await countUntilLast(
    watchBy(watcher, directory),
    () => say({ ready: true }),
    (name) => {
      const at = process.hrtime.bigint()
      received[Number(name.slice('event-'.length))] = Number(at)
    },
  )
  say({ received })
}
