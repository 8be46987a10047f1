// node calls_workers.mjs DIRECTORY: starts workers that make calls, one of which gets no answer, and
// terminates them at any point. Prints their number when nothing is left of them. An abort shows in the exit
// code.
import { execFileSync } from 'node:child_process'
import { closeSync, constants, fstatSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

const COUNT = 30
const directory = process.argv[2] ?? ''
const calling = `
  import { parentPort, workerData } from 'node:worker_threads'
  const { SyscallThread, O_PATH } = await import(workerData.calls)
  const { directory, fifo } = workerData
  const dead = new SyscallThread()
  dead.open(fifo, 0).catch(() => {})
  const calls = new SyscallThread()
  const { fd } = await calls.open(directory, O_PATH)
  const key = await calls.stat({ fd, name: '' })
  for (let n = 1; ; n++) {
    await Promise.all([calls.stat({ fd, name: '' }), calls.names(fd, 100)])
    const pace = { soon: 1, interval: 1, limit: 1 + (n % 3) }
    await calls.awaitChange([{ fd, name: '', revalidate: false, key }], pace, true)
    parentPort.postMessage(n)
  }
`
const url = new URL(`data:text/javascript,${encodeURIComponent(calling)}`)
const calls = new URL('../../out/mounts/syscalls/syscall_thread.js', import.meta.url).href
// Regular files left out: a sanitizer's runtime opens its report at the first finding, and keeps it.
const descriptors = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return !fstatSync(Number(fd)).isFile()
    } catch {
      return false // the descriptor of the listing
    }
  }).length
const threads = () => readdirSync('/proc/self/task').length

/** @param {number} i */
async function startAndTerminate(i) {
  const fifo = join(directory, String(i))
  execFileSync('mkfifo', [fifo])
  const worker = new Worker(url, { workerData: { calls, directory, fifo } })
  await new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  await sleep(i % 7)
  await worker.terminate()
  // Answers the unanswered call, if it was made.
  try {
    closeSync(openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK))
  } catch {
    // ENXIO: the call was not made.
  }
}

// The first makes threads that stay: it is no part of the count.
await startAndTerminate(COUNT)
const before = [descriptors(), threads()]
for (let i = 0; i < COUNT; i++) await startAndTerminate(i)
while (descriptors() > Number(before[0]) || threads() > Number(before[1])) await sleep(5)
process.stdout.write(JSON.stringify({ terminated: COUNT }))
