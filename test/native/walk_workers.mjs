// node walk_workers.mjs DIRECTORY COUNT: starts COUNT workers that walk the directory again and again, and
// terminates them at any point. Waits until their descriptors and threads are gone. An abort shows in the
// exit code.
import { fstatSync, readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

const [directory, count] = [process.argv[2], Number(process.argv[3])]
const walking = `
  import { parentPort, workerData } from 'node:worker_threads'
  const { loadAddon } = await import(workerData.addon)
  const { openQueue, RECURSIVE, STAT, WATCH, walk } = await import(workerData.walking)
  const addon = loadAddon()
  const queue = openQueue(addon)
  const walker = new addon.Walker()
  const mounts = new addon.MountTable()
  mounts.open(() => {})
  // Where it is not permitted there are no events, and nothing to read.
  const fanotify = new addon.Fanotify()
  fanotify.open(() => fanotify.read())
  fanotify.add(workerData.directory)
  for (let n = 1; ; n++) {
    await walk(walker, [{ flags: RECURSIVE | STAT | WATCH, root: workerData.directory }], queue, 0x100)
    parentPort.postMessage(n)
  }
`
const url = new URL(`data:text/javascript,${encodeURIComponent(walking)}`)
const workerData = {
  directory,
  addon: new URL('../../out/addon.js', import.meta.url).href,
  walking: new URL('./walking.mjs', import.meta.url).href,
}
/**
 * Counts all descriptors but those of regular files: a sanitizer's runtime opens its report at the first
 * finding, and keeps it open.
 */
const descriptors = () => readdirSync('/proc/self/fd').filter((fd) => !isRegular(fd)).length
const threads = () => readdirSync('/proc/self/task').length

/** @param {string} fd */
function isRegular(fd) {
  try {
    return fstatSync(Number(fd)).isFile()
  } catch {
    return false // the descriptor of the listing
  }
}

/** @param {number} i */
async function startAndTerminate(i) {
  const worker = new Worker(url, { workerData })
  await new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  await sleep(i % 7)
  await worker.terminate()
}

// The first worker makes threads that stay, and so is not counted.
await startAndTerminate(0)
const before = [descriptors(), threads()]
let ended = 0
// Reports the figures of a run that does not end. Silence means that this thread is held.
setInterval(() => {
  const now = [descriptors(), threads()]
  process.stderr.write(`${ended} of ${count} have ended; descriptors and threads: ${before}, now ${now}\n`)
}, 10_000).unref()
const pending = Array.from({ length: count }, (_, i) => i)
await Promise.all(
  Array.from({ length: 4 }, async () => {
    for (let i = pending.shift(); i !== undefined; i = pending.shift()) {
      await startAndTerminate(i)
      ended++
    }
  }),
)
// The threads of a walk end after their present system call, and terminate() does not wait for them.
while (descriptors() > Number(before[0]) || threads() > Number(before[1])) await sleep(5)
process.stdout.write(JSON.stringify({ terminated: count }))
