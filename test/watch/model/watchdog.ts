import { Worker } from 'node:worker_threads'

// The code runs in a thread of its own: no timer of this thread would run while it is stuck.
const CODE = `
const { workerData: { beats, patience, message } } = require('node:worker_threads')
const { writeSync } = require('node:fs')
let last = -1
setInterval(() => {
  const beat = Atomics.load(beats, 0)
  if (beat === last) {
    writeSync(2, message)
    process.kill(process.pid, 'SIGKILL')
  }
  last = beat
}, patience)
`

/** Ends this process, with a message, when its loop is stuck: a loop without an end in the watcher is to be a failure, too. */
export function watchOver(patience: number, message: string): Disposable {
  const beats = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(CODE, { eval: true, workerData: { beats, patience, message } })
  worker.unref()
  const timer = setInterval(() => Atomics.add(beats, 0, 1), patience / 10)
  return {
    [Symbol.dispose]() {
      clearInterval(timer)
      void worker.terminate()
    },
  }
}
