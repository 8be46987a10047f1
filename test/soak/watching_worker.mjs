// A watcher of the built library in a worker thread. Tells its changes, and answers each 'sync' and 'close'
// when it is done.
import { parentPort, workerData } from 'node:worker_threads'

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort)
/** No literal path, because dist is missing before the build. @type {typeof import('../../src/index.ts')} */
const { watch } = await import(new URL('../../dist/index.js', import.meta.url).href)

const watcher = watch(workerData.roots, workerData.options)
watcher.on('changes', (changes) => port.postMessage({ changes, at: Date.now() }))
watcher.on('error', (error) => port.postMessage({ error: String(Object(error).code) }))
port.on('message', async (/** @type {'sync' | 'close'} */ request) => {
  await (request === 'sync' ? watcher.sync() : watcher.close())
  port.postMessage({ done: request })
  if (request === 'close') port.close()
})
await watcher.ready
port.postMessage({ done: 'ready' })
