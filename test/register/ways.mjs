// Prints as JSON the ways, in which processes and threads, by which an unchanged program gets
// inotify-bridge's functions: their errors have a hint.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import fs, { watch } from 'node:fs'
import promises, { watch as watchPromises } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { parentPort, SHARE_ENV, Worker } from 'node:worker_threads'

const require = createRequire(import.meta.url)
const namespace = await import('node:fs')

/** @type {Record<string, (path: string) => unknown>} */
const WAYS = {
  'import fs': (path) => fs.watch(path),
  'import { watch }': (path) => watch(path),
  'import()': (path) => namespace.watch(path),
  require: (path) => require('node:fs').watch(path),
  'fs.promises': (path) => drain(fs.promises.watch(path)),
  'import promises': (path) => drain(promises.watch(path)),
  'import { watch } of promises': (path) => drain(watchPromises(path)),
  'require promises': (path) => drain(require('node:fs/promises').watch(path)),
}

/** @param {AsyncIterable<unknown>} events */
async function drain(events) {
  for await (const _ of events) break
}

/** @type {string[]} */
const ours = []
for (const [way, call] of Object.entries(WAYS))
  try {
    await call('/no/such')
  } catch (error) {
    if (Object.hasOwn(/** @type {object} */ (error), 'hint')) ours.push(way)
  }
const isFirst = process.argv[2] === undefined
if (parentPort !== null) parentPort.postMessage(ours)
else if (!isFirst) process.send?.(ours)
else {
  const file = fileURLToPath(import.meta.url)
  /** @type {Record<string, unknown>} */
  const found = { main: ours }
  /** @type {Record<string, import('node:worker_threads').WorkerOptions>} */
  const options = {
    worker: {},
    'worker execArgv': { execArgv: ['--no-warnings'] },
    'worker env': { env: { ...process.env } },
    'worker SHARE_ENV': { env: SHARE_ENV },
  }
  for (const [name, option] of Object.entries(options))
    [found[name]] = await once(new Worker(file, option), 'message')
  ;[found.child] = await once(fork(file, ['child'], { execArgv: [] }), 'message')
  console.log(JSON.stringify({ ways: Object.keys(WAYS), found }))
}
