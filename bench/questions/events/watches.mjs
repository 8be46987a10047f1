// Asks if an event costs more when more is watched.
import { basename, join } from 'node:path'
import { untilItSawTheLast } from '../../children.mjs'
import { Series } from '../../series.mjs'
import { leafOf, treeOf } from '../../tree.mjs'
import { countUntilLast, IN_Q_OVERFLOW } from '../../watchers/one_directory.mjs'

const EVENTS = 300_000
const FEW = 10
const MANY = 50_000

/**
 * The means of each watcher, and if the events come in many directories. By the watcher's name.
 *
 * @type {Record<string, { by: string, isSpread: boolean }>}
 */
const WATCHERS = {
  'raw C + window': { by: 'raw C', isSpread: false },
  Inotify: { by: 'Inotify', isSpread: false },
  'watch()': { by: 'watch()', isSpread: false },
  'raw C + window over all': { by: 'raw C', isSpread: true },
  'Inotify over all': { by: 'Inotify', isSpread: true },
  'watch() over all': { by: 'watch()', isSpread: true },
}
const series = new Series(
  Object.entries(WATCHERS).flatMap(([watcher, { isSpread }]) =>
    (isSpread ? [MANY] : [FEW, MANY]).map((size) => ({ watcher, size })),
  ),
  ' watches',
)

/** @type {import('../../question.mjs').Question} */
export const watches = {
  name: 'watches',
  asks: `Does an event cost more with ${MANY} watches than with ${FEW}? ${EVENTS} of them, as fast as one writer can.`,
  note: `In the same ${FEW} directories each time; "over all": in all ${MANY} by turns, where the writer and the kernel take longer as well. CPU is user and
system time of the whole process. "rate": from the first that was made to the last that was told.`,
  rounds: 7,
  subjects: series.subjects,
  figures: [
    { name: 'cpu', unit: 'ns/event', digits: 0 },
    { name: 'rate', unit: 'k events/s', digits: 0 },
    { name: 'overflows', unit: 'events', digits: 1, most: 0 },
  ],
  targets: ['Inotify', 'watch()'].flatMap((watcher) => {
    const [subject, by] = [`${watcher}, ${MANY} watches`, `${watcher}, ${FEW} watches`]
    return [
      { subject, by, figure: 'cpu', atMost: 1.15 },
      { subject, by, figure: 'rate', atLeast: 0.87 },
    ]
  }),

  async measure(subject, { scratch, children }) {
    const { watcher, size } = series.at(subject)
    const { by, isSpread } = WATCHERS[watcher] ?? { by: '', isSpread: false }
    const tree = treeOf(scratch, size)
    const child =
      by === 'raw C'
        ? children.startRawReader('until-last', tree, 1, size)
        : children.startSubject('events/watches', by, tree, size)
    await child.next()
    const start = performance.now()
    await children.startWriter('storm', tree, EVENTS, isSpread ? size : FEW).next()
    const { cpuMs, overflows } = await untilItSawTheLast(tree, child.next())
    return { cpu: (cpuMs * 1e6) / EVENTS, rate: EVENTS / (performance.now() - start), overflows }
  },
}

/** @param {import('../../subject.mjs').Subject} subject */
export async function answer({ watcher, directory, args: [size], say }) {
  let before = process.cpuUsage()
  const { overflows } = await countUntilLast(
    watcher === 'Inotify' ? byInotify(directory, Number(size)) : byWatch(directory),
    () => {
      say({ ready: true })
      before = process.cpuUsage()
    },
    () => {},
  )
  const { user, system } = process.cpuUsage(before)
  say({ cpuMs: (user + system) / 1000, overflows })
  process.exit()
}

/**
 * Keeps the watches at the end: removing 50,000 watches is no part of an event's cost, and the yardstick does
 * not remove them either.
 */
const KEPT = () => {}

/**
 * @param {string} tree
 * @param {number} size  The number of watched directories.
 * @returns {import('../../watchers/one_directory.mjs').Watch}
 */
function byInotify(tree, size) {
  return async (onEvent) => {
    const { Inotify, ...IN } = await import('../../../dist/inotify.js')
    const inotify = new Inotify()
    inotify.add(tree, IN.IN_CREATE | IN.IN_DELETE)
    // Makes one path at a time, so that the collector has no paths to collect while the events come.
    for (let i = 0; i < size; i++) inotify.add(join(tree, leafOf(i)), IN.IN_CREATE | IN.IN_DELETE)
    inotify.on('events', (batch) => {
      for (let i = 0; i < batch.length; i++) onEvent(batch.name(i), batch.mask(i), batch.wd(i))
    })
    return KEPT
  }
}

/**
 * @param {string} tree
 * @returns {import('../../watchers/one_directory.mjs').Watch}
 */
function byWatch(tree) {
  return async (onEvent) => {
    const { watch } = await import('../../../dist/watch.js')
    const watcher = watch(tree, { recursive: true, backend: 'inotify' })
    watcher.on('changes', (changes) => {
      for (const { type, path } of changes)
        onEvent(basename(path), type === 'overflow' ? IN_Q_OVERFLOW : 0, 0)
    })
    await watcher.ready
    return KEPT
  }
}
