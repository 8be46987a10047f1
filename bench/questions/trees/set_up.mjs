// Asks how long watching a large tree takes, and what it costs. The yardstick adds the same watches and reads
// the same directories on as many threads, and keeps nothing of them.
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { median } from '../../rounds.mjs'
import { directoriesIn, FILES_EACH, treeOf } from '../../tree.mjs'

const LEAVES = 50_000
const DIRECTORIES = directoriesIn(LEAVES)
const FILES = LEAVES * FILES_EACH
const THREADS = 2
const SURE = 'raw C, by descriptors'
const WARM = 'inotify-bridge, warm'
const WARM_TIMES = 4

/** @type {import('../../question.mjs').Question} */
export const setUp = {
  name: 'set_up',
  asks: `How soon are ${DIRECTORIES} directories with ${FILES} files watched, and at what cost?`,
  note:
    'From the call of watch() to its being ready, in a process that has watched nothing before, and what all its threads took for it;\n' +
    `"warm": the median of the next ${WARM_TIMES} times. Bytes are those of JavaScript's heap and outside of it, of the whole watch, after a collection.\n` +
    '"other watches": of what is no directory of the tree. "raw C" adds a watch by a path, whatever directory has it by then; "by descriptors" it is sure,\n' +
    'as watch() has to be, that what it watches is what it lists: by four more system calls for each directory.',
  rounds: 7,
  subjects: ['raw C', SURE, 'inotify-bridge', WARM],
  figures: [
    { name: 'ready', unit: 'ms', digits: 0, ratiosTo: ['raw C', SURE] },
    { name: 'cpu', unit: 'ms', digits: 0, ratiosTo: ['raw C', SURE] },
    { name: 'bytes', unit: 'per directory', digits: 0 },
    { name: 'other watches', unit: 'of the process', digits: 0 },
  ],
  targets: [
    { subject: 'inotify-bridge', figure: 'ready', by: 'raw C', atMost: 1.2, limit: SURE },
    { subject: WARM, figure: 'bytes', atMost: 150 },
    // The watches of the directories on the way to the root, and the one for sync(): none of a file.
    { subject: WARM, figure: 'other watches', atMost: 10 },
  ],

  async measure(subject, { scratch, children }) {
    const tree = treeOf(scratch, LEAVES)
    if (subject === 'raw C' || subject === SURE) {
      const how = subject === SURE ? 'descriptors' : 'paths'
      const { directories, ms, cpuMs } = await children.startRawWalk(tree, THREADS, how).next()
      assertAll(directories)
      return { ready: ms, cpu: cpuMs }
    }
    const times = subject === WARM ? WARM_TIMES : 0
    return children.startSubject('trees/set_up', subject, tree, times).next()
  },
}

/** @param {import('../../subject.mjs').Subject} subject */
export async function answer({ directory, args: [times], say }) {
  const { watch } = await import('../../../dist/watch.js')
  /**
   * A function of its own, so that nothing of a watch that is closed is kept.
   * @template T
   * @param {(watcher: import('../../../dist/watch.js').Watcher, took: { ready: number, cpu: number }) => T} use
   */
  const once = async (use) => {
    const [before, start] = [process.cpuUsage(), performance.now()]
    const watcher = watch(directory, { recursive: true, backend: 'inotify' })
    await watcher.ready
    const ready = performance.now() - start
    const { user, system } = process.cpuUsage(before)
    const used = await use(watcher, { ready, cpu: (user + system) / 1000 })
    await watcher.close()
    return used
  }
  const first = await once((watcher, took) => {
    assertAll(watcher.coverage()[0]?.directories)
    return took
  })
  if (Number(times) === 0) return say(first)
  const ready = []
  for (let i = 0; i < Number(times); i++) ready.push((await once((_, took) => took)).ready)
  const before = await bytesUsed()
  const [after, watches] = await once(async () => [await bytesUsed(), countWatches()])
  const bytes = (after - before) / DIRECTORIES
  say({ ready: median(ready), bytes, 'other watches': watches - DIRECTORIES })
}

/** After all that can be collected is: buffers go in the background, some turns behind. */
async function bytesUsed() {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  for (let i = 0; i < 3; i++) {
    collect()
    await setTimeout(20)
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Counts the watches of all inotify instances of this process. */
function countWatches() {
  const texts = readdirSync('/proc/self/fdinfo').map((fd) => {
    try {
      return readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')
    } catch {
      return '' // It was that of the list itself.
    }
  })
  return texts.reduce((sum, text) => sum + (text.match(/^inotify wd:/gm)?.length ?? 0), 0)
}

/** @param {number | undefined} directories */
function assertAll(directories) {
  if (directories !== DIRECTORIES)
    throw new Error(`${directories} of ${DIRECTORIES} directories were watched`)
}
