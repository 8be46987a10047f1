// node workers.mjs DIRECTORY COUNT: starts and terminates COUNT workers that watch the directory, eight at a
// time, while another process changes the directory. Prints the inotify descriptors and threads that are
// left, and the process's memory, in MiB, at each tenth of the way (--expose-gc). An abort shows in the exit
// code.
import { Worker } from 'node:worker_threads'
import { left, memory, threads } from './what_is_left.mjs'

const [directory, count] = [process.argv[2], Number(process.argv[3])]

// Imports single modules, because importing all would take most of a worker's time.
const moduleOf = (/** @type {string} */ name) =>
  JSON.stringify(new URL(`../../out/inotify/${name}.js`, import.meta.url).href)

// No module here has a top-level await: V8 11.3 (Node 20) aborts the process where a worker is terminated in the instant in which it
// begins to evaluate one ("Check failed: (location_) != nullptr" in SourceTextModule::ExecuteAsyncModule), without any addon as well.
const watching = `
  import { parentPort, workerData } from 'node:worker_threads'
  import { IN_ALL_EVENTS } from ${moduleOf('constants')}
  import { Inotify } from ${moduleOf('inotify')}
  let told = false
  const watchers = [new Inotify(), new Inotify()]
  for (const inotify of watchers) {
    inotify.add(workerData.directory, IN_ALL_EVENTS)
    inotify.on('events', (batch) => {
      if (batch.length > 0 && !told) parentPort.postMessage('events')
      told = true
    })
  }
  // Blocked now and then, so that guards are at work when the end comes.
  setInterval(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20), 25)
`
const url = new URL(`data:text/javascript,${encodeURIComponent(watching)}`)

let withEvents = 0

/** @param {number} i */
async function startAndTerminate(i) {
  const worker = new Worker(url, { workerData: { directory } })
  const events = new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  // Each tenth is terminated wherever it is: loading, opening, adding.
  if (i % 10 === 0) await new Promise((resolve) => worker.once('online', resolve))
  else {
    await events
    withEvents++
  }
  await worker.terminate()
}

// The first worker makes threads that stay: it is no part of the count.
await startAndTerminate(1)
withEvents = 0
const threadsBefore = threads()
/** @type {number[]} */
const rss = []
const pending = Array.from({ length: count }, (_, i) => i)
await Promise.all(
  Array.from({ length: 8 }, async () => {
    for (let i = pending.shift(); i !== undefined; i = pending.shift()) {
      await startAndTerminate(i)
      if ((i + 1) % (count / 10) === 0) rss.push(memory())
    }
  }),
)
process.stdout.write(JSON.stringify({ withEvents, ...left(threadsBefore), rss }))
