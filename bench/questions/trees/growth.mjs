// Asks how the time and the memory for watching a tree grow with the tree.
import { Series } from '../../series.mjs'
import { directoriesIn, FILES_EACH, LARGEST, TREE_SIZES, treeOf } from '../../tree.mjs'
import { watchTree } from '../../watchers/trees.mjs'

/** The largest size with --quick. */
const QUICK = 10_000

/**
 * The largest sizes for slow watchers: beyond these a round takes minutes.
 *
 * @type {Record<string, number>}
 */
const MOST = { chokidar: 1_000, 'fs.watch': 10_000 }

const WATCHERS = [
  'raw C',
  'inotify-bridge',
  '@parcel/watcher',
  'chokidar',
  'fs.watch',
  'inotifywait',
  'Go fsnotify',
  'Rust notify',
]
const series = new Series(
  WATCHERS.flatMap((watcher) =>
    TREE_SIZES.filter((size) => size <= (MOST[watcher] ?? Number.POSITIVE_INFINITY)).map((size) => ({
      watcher,
      size,
    })),
  ),
)

/** @type {import('../../question.mjs').Question} */
export const growth = {
  name: 'growth',
  asks: `How do set-up and memory grow with the tree, from ${TREE_SIZES[0]} to ${LARGEST} directories of ${FILES_EACH} files each?`,
  note: `"raw C" adds the same watches and reads the same directories on two threads, and keeps nothing of them. Memory is what the process has
grown by (RSS), from before the watcher is imported to when it is ready; of inotifywait, all of it. fs.watch, recursive, has a watch for each file
as well. Go fsnotify knows no trees: each directory is added.`,
  rounds: 3,
  subjects: series.subjects,
  figures: [
    { name: 'ready', unit: 'ms', digits: 0 },
    { name: 'a directory', unit: 'us', digits: 2 },
    { name: 'memory', unit: 'MiB', digits: 1 },
  ],
  isSlow: (subject) => series.at(subject).size > QUICK,
  // Linear growth: a directory costs the same in a larger tree, and memory grows no more than the tree.
  targets: [
    {
      subject: `inotify-bridge, ${LARGEST}`,
      by: 'inotify-bridge, 50000',
      figure: 'a directory',
      atMost: 1.15,
    },
    {
      subject: `inotify-bridge, ${LARGEST}`,
      by: 'inotify-bridge, 50000',
      figure: 'memory',
      atMost: LARGEST / 50_000,
    },
  ],

  async measure(subject, { scratch, children }) {
    const { watcher, size } = series.at(subject)
    const tree = treeOf(scratch, size)
    const watching =
      watcher === 'raw C'
        ? children.startRawWalk(tree, 2)
        : (children.startOutside(watcher, 'tree', tree) ??
          children.startSubject('trees/growth', watcher, tree))
    const answer = await watching.next()
    const figures = { ready: answer.ms, 'a directory': (answer.ms * 1000) / directoriesIn(size) }
    return watcher === 'raw C' ? figures : { ...figures, memory: answer.MiB }
  },
}

/** @param {import('../../subject.mjs').Subject} subject */
export async function answer({ watcher, directory, say }) {
  const before = process.memoryUsage.rss()
  const start = performance.now()
  await watchTree(watcher, directory, () => {})
  const ms = performance.now() - start
  say({ ms, MiB: (process.memoryUsage.rss() - before) / 1024 / 1024 })
  // No close(), whose cost is no part of the question.
  process.exit()
}
