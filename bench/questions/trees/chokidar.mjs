// Asks for the gain of a program that changes one import, from chokidar to inotify-bridge/chokidar.
import { mkdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { untilQuiet } from '../../quiet.mjs'
import { Series } from '../../series.mjs'
import { FILES_EACH, treeOf } from '../../tree.mjs'
import { watchTree } from '../../watchers/trees.mjs'

const SIZES = [1_000, 10_000]
/**
 * Too large for chokidar, which has a watch for each file as well: many machines do not allow that many
 * watches.
 */
const LARGE = 50_000
const FILES = 50_000

const [OURS, THEIRS] = ['inotify-bridge/chokidar', 'chokidar']
const series = new Series([
  ...SIZES.flatMap((size) => [OURS, THEIRS].map((watcher) => ({ watcher, size }))),
  { watcher: OURS, size: LARGE },
])

/** @type {import('../../question.mjs').Question} */
export const chokidar = {
  name: 'chokidar',
  asks: `How soon is a tree watched through chokidar's interface, in how much memory, and what is told of ${FILES} new files in it?`,
  note: `Trees of ${[...SIZES, LARGE].join(', ')} directories of ${FILES_EACH} files each, with ignoreInitial. "ready" and "memory", what the process has grown by (RSS), are from before the
import to 'ready'; "told": of the files made, as fast as one writer can, those of which 'add' was told; "cpu" is that of the whole process for each of these.`,
  rounds: 5,
  subjects: series.subjects,
  figures: [
    { name: 'ready', unit: 'ms', digits: 0 },
    { name: 'memory', unit: 'MiB', digits: 1 },
    { name: 'told', unit: '%', digits: 1, least: 100 },
    { name: 'cpu', unit: 'us/file', digits: 1 },
  ],
  targets: [
    ...SIZES.flatMap((size) =>
      ['ready', 'memory', 'cpu'].map((figure) => {
        const [subject, by] = [`${OURS}, ${size}`, `${THEIRS}, ${size}`]
        return { subject, by, figure, atMost: 0.5 }
      }),
    ),
    ...[...SIZES, LARGE].map((size) => ({ subject: `${OURS}, ${size}`, figure: 'told', atLeast: 100 })),
  ],
  isSlow: (subject) => series.at(subject).size > 1_000,

  async measure(subject, { scratch, children }) {
    const { watcher, size } = series.at(subject)
    const tree = treeOf(scratch, size)
    const directory = join(tree, 'burst')
    mkdirSync(directory)
    const child = children.startSubject('trees/chokidar', watcher, tree)
    const { ready, memory } = await child.next()
    await children.startWriter('burst', directory, FILES).next()
    child.go()
    const { told, cpuMs } = await child.next()
    rmSync(directory, { recursive: true })
    return { ready, memory, told: (told / FILES) * 100, cpu: (cpuMs * 1000) / told }
  },
}

/** @param {import('../../subject.mjs').Subject} subject */
export async function answer({ watcher, directory, say }) {
  /** @type {Set<string>} */
  const told = new Set()
  const [rss, start] = [process.memoryUsage.rss(), performance.now()]
  await watchTree(watcher, directory, (path) => {
    const name = basename(path)
    if (name.startsWith('event-')) told.add(name)
  })
  const ready = performance.now() - start
  const memory = (process.memoryUsage.rss() - rss) / 1024 / 1024
  const before = process.cpuUsage()
  const quiet = untilQuiet(() => told.size)
  say({ ready, memory })
  await quiet
  const { user, system } = process.cpuUsage(before)
  say({ told: told.size, cpuMs: (user + system) / 1000 })
  process.exit()
}
