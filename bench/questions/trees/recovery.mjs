// Asks how soon a tree is known again after the kernel has dropped its events. The watching process is
// stopped while a writer makes more events than the kernel's queue holds.
import { readFileSync } from 'node:fs'
import { stop } from '../../processes.mjs'
import { Series } from '../../series.mjs'
import { directoriesIn, FILES_EACH, LARGEST, TREE_SIZES, treeOf } from '../../tree.mjs'

const MAX_QUEUED_EVENTS = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'))
/** The largest size with --quick. */
const QUICK = 50_000

/** The number of threads that watch() has. */
const THREADS = 2

const series = new Series(
  TREE_SIZES.flatMap((size) => ['raw C', 'inotify-bridge'].map((watcher) => ({ watcher, size }))),
)
const ASKED = 'inotify-bridge, 50000'

/** @type {import('../../question.mjs').Question} */
export const recovery = {
  name: 'recovery',
  asks: `How soon has watch() recovered a tree of ${TREE_SIZES[0]} to ${LARGEST} directories of ${FILES_EACH} files each, of which events were lost?`,
  note: `"recovery": from 'overflow' to 'recovered', when all that differs has been told; "ready": of the same watch, its start, in a process that has
watched nothing before. "raw C" walks by descriptors, then once more with statx(2) of each name, for any of them may have been written, and compares nothing.
None of the other watchers recovers: what was lost stays lost.`,
  rounds: 5,
  subjects: series.subjects,
  figures: [
    { name: 'recovery', unit: 'ms', digits: 0 },
    { name: 'ready', unit: 'ms', digits: 0 },
    { name: 'by ready', unit: '', digits: 2 },
    { name: 'a directory', unit: 'us', digits: 2 },
  ],
  targets: [
    { subject: ASKED, figure: 'recovery', byFigure: 'ready', atMost: 1.2, limit: 'raw C, 50000' },
    // Linear growth.
    { subject: `inotify-bridge, ${LARGEST}`, by: ASKED, figure: 'a directory', atMost: 1.15 },
  ],
  isSlow: (subject) => series.at(subject).size > QUICK,

  async measure(subject, { scratch, children }) {
    const { watcher, size } = series.at(subject)
    const tree = treeOf(scratch, size)
    if (watcher === 'raw C') {
      const { ms, againMs } = await children.startRawWalk(tree, THREADS, 'again').next()
      return figuresOf(size, ms, againMs)
    }
    const child = children.startSubject('trees/recovery', watcher, tree)
    const { ready } = await child.next()
    await stop(child.pid)
    await children.startWriter('storm', tree, MAX_QUEUED_EVENTS).next()
    process.kill(child.pid, 'SIGCONT')
    const { recovered } = await child.next()
    return figuresOf(size, ready, recovered)
  },
}

/** @param {number} size @param {number} ready @param {number} recovery  ms */
const figuresOf = (size, ready, recovery) => ({
  recovery,
  ready,
  'by ready': recovery / ready,
  'a directory': (recovery * 1000) / directoriesIn(size),
})

/** @param {import('../../subject.mjs').Subject} subject */
export async function answer({ directory, say }) {
  const { watch } = await import('../../../dist/watch.js')
  const start = performance.now()
  const watcher = watch(directory, { recursive: true, backend: 'inotify' })
  let lost = 0
  watcher.on('changes', (changes) => {
    for (const { type } of changes) {
      if (type === 'overflow') lost = performance.now()
      if (type !== 'recovered') continue
      say({ recovered: performance.now() - lost })
      process.exit()
    }
  })
  await watcher.ready
  say({ ready: performance.now() - start })
}
