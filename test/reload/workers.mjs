// A reloader in each of several threads, of which some are terminated at work. Prints what became of it as JSON. Uses dist.
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

if (isMainThread) {
  const [, , base = ''] = process.argv
  let hups = 0
  process.on('SIGHUP', () => {
    hups++
  })
  const workers = await Promise.all(
    Array.from({ length: 6 }, async (_, n) => {
      const path = join(base, String(n))
      fs.writeFileSync(path, 'one')
      const worker = new Worker(import.meta.filename, { workerData: path })
      await once(worker, 'message')
      return { path, worker }
    }),
  )
  const told = workers.slice(0, 3).map(({ worker }) => once(worker, 'message'))
  for (const { path } of workers) fs.writeFileSync(path, 'two')
  // In the midst of it.
  await Promise.all(workers.slice(3).map(({ worker }) => worker.terminate()))
  const changed = (await Promise.all(told)).map(([message]) => message)
  while (hups === 0) await new Promise(setImmediate)
  await Promise.all(workers.slice(0, 3).map(({ worker }) => worker.postMessage('end')))
  await Promise.all(workers.slice(0, 3).map(({ worker }) => once(worker, 'exit')))
  process.stdout.write(JSON.stringify({ changed }))
} else {
  /** Not a literal: dist is there only once it has been built. @type {typeof import('../../src/index.ts')} */
  const { reload } = await import(join(import.meta.dirname, '../../dist/index.js'))
  const reloader = reload({ paths: [workerData], delay: 20, action: { signal: 'SIGHUP', pid: process.pid } })
  reloader.on('reload', ({ changed }) => parentPort?.postMessage(changed))
  await reloader.ready
  parentPort?.postMessage('ready')
  parentPort?.once('message', () => void reloader.close())
}
