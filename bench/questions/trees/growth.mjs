// How do the time to watch a tree, and the memory for it, grow with the tree?
import { readFileSync } from 'node:fs'
import { Series } from '../../series.mjs'
import { directoriesIn, FILES_EACH, treeOf } from '../../tree.mjs'
import { watchTree } from '../../watchers/trees.mjs'

/** Room for other watches of this user, and of what a peer takes beside directories. */
const SPARE = 2_000
const MAX_USER_WATCHES = Number(readFileSync('/proc/sys/fs/inotify/max_user_watches', 'utf8'))

/** Directories with files; the largest is what fs.inotify.max_user_watches allows. */
const SIZES = [
  1_000,
  10_000,
  50_000,
  Math.min(500_000, 10_000 * Math.floor((MAX_USER_WATCHES - SPARE) / 10_000)),
]

/** Beyond it a round takes minutes. @type {Record<string, number>} */
const MOST = { chokidar: 1_000 }

const WATCHERS = ['raw C', 'inotify-bridge', '@parcel/watcher', 'chokidar']
const series = new Series(
  WATCHERS.flatMap((watcher) =>
    SIZES.filter((size) => size <= (MOST[watcher] ?? Number.POSITIVE_INFINITY)).map((size) => ({
      watcher,
      size,
    })),
  ),
)

/** @type {import('../../question.mjs').Question} */
export const growth = {
  name: 'growth',
  asks: `How do set-up and memory grow with the tree, from ${SIZES[0]} to ${SIZES.at(-1)} directories of ${FILES_EACH} files each?`,
  note: `"raw C" adds the same watches and reads the same directories on two threads, and keeps nothing of them. Memory is what the process has
grown by (RSS), from before the watcher is imported to when it is ready. fs.watch is not among
them: nothing says when it has watched a tree.`,
  rounds: 3,
  subjects: series.subjects,
  figures: [
    { name: 'ready', unit: 'ms', digits: 0 },
    { name: 'a directory', unit: 'us', digits: 2 },
    { name: 'memory', unit: 'MiB', digits: 1 },
  ],
  targets: [],

  async measure(subject, { scratch, children }) {
    const { watcher, size } = series.at(subject)
    const tree = treeOf(scratch, size)
    const answer =
      watcher === 'raw C'
        ? await children.startRawWalk(tree, 2).next()
        : await children.startSubject('trees/growth', watcher, tree).next()
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
  // Not close(): what it takes is no part of the question.
  process.exit()
}
