// Asks for the cost of a storm. A writer creates and unlinks as fast as it can. Counts the watcher's CPU time
// an event (all its threads), and the effect of the watch on the writer.
import { untilItSawTheLast } from '../../children.mjs'
import { countUntilLast, watchBy } from '../../watchers/one_directory.mjs'

/**
 * The number of events. The name of one more tells the watcher that it has seen all. The number is large, so
 * that compiling JavaScript, some 20 ms at the start of each process, is a small part of the figure: a
 * watcher lives longer than a storm.
 */
const EVENTS = 600_000

/** @type {import('../../question.mjs').Question} */
export const storm = {
  name: 'storm',
  asks: `What do ${EVENTS + 1} events cost, made as fast as one writer can?`,
  note:
    '"raw C + window": the yardstick with 1 ms between reads while events keep coming, as inotify-bridge has it.\n' +
    'CPU is user and system time of the whole process, per event that it delivered; of inotifywait without that of who reads what\n' +
    'it prints. Rust notify asks for closed files, too, which are not counted.',
  rounds: 7,
  subjects: [
    'unwatched',
    'raw C',
    'raw C + window',
    'inotify-bridge',
    'fs.watch',
    'inotifywait',
    'Go fsnotify',
    'Rust notify',
  ],
  figures: [
    { name: 'cpu', unit: 'ns/event', digits: 0, ratiosTo: ['raw C', 'raw C + window', 'fs.watch'] },
    { name: 'delivered', unit: '%', digits: 1, least: 100 },
    { name: 'lost in silence', unit: 'events', digits: 0 },
    { name: 'writer', unit: 'ms', digits: 0, ratiosTo: ['unwatched'] },
  ],
  targets: [
    { subject: 'inotify-bridge', figure: 'cpu', by: 'fs.watch', atMost: 0.2 },
    { subject: 'inotify-bridge', figure: 'cpu', by: 'raw C + window', atMost: 1.3 },
    { subject: 'inotify-bridge', figure: 'lost in silence', atMost: 0 },
  ],

  async measure(subject, { scratch, children }) {
    const directory = scratch.newDirectory()
    const write = () => children.startWriter('storm', directory, EVENTS).next()
    if (subject === 'unwatched') return { writer: (await write()).wallMs }
    const reader = children.startCounting(subject, directory)
    await reader.next()
    const { wallMs } = await write()
    const { delivered, overflows, cpuMs } = await untilItSawTheLast(directory, reader.next())
    return {
      cpu: (cpuMs * 1e6) / delivered,
      delivered: (delivered / EVENTS) * 100,
      'lost in silence': overflows > 0 ? 0 : EVENTS - delivered,
      writer: wallMs,
    }
  },
}

/** @param {import('../../subject.mjs').Subject} subject */
export async function answer({ watcher, directory, say }) {
  let lookedAt = 0
  let before = process.cpuUsage()
  const counts = await countUntilLast(
    watchBy(watcher, directory),
    () => {
      say({ ready: true })
      before = process.cpuUsage()
    },
    (name, mask, wd) => {
      lookedAt += name.length + mask + wd
    },
  )
  const { user, system } = process.cpuUsage(before)
  say({ ...counts, cpuMs: (user + system) / 1000, lookedAt })
}
