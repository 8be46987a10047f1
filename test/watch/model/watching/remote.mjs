// Runs a watcher in a worker or in a process of its own. Takes the roots and settings, then 'sync' or
// 'close', and answers each with the changes in between. Uses the built library, because not every Node reads
// TypeScript.
import { parentPort } from 'node:worker_threads'
import { built } from './built.mjs'
import { asText, host } from './host.mjs'

const port = parentPort
const say = (/** @type {object} */ message) =>
  void (port ? port.postMessage(message) : process.send?.(message))
const reasonOf = (/** @type {unknown} */ error) => ({
  failed: error instanceof Error ? String(error.stack) : String(error),
})

/** @type {import('./observer.ts').Observer | undefined} */
let observer
/** @param {import('./remote.ts').Request} request */
async function answer(request) {
  if (request === 'sync') await observer?.sync()
  else if (request === 'close') await observer?.close()
  else {
    observer = host(built, request, (changes, at) => say({ changes: changes.map(asText), at }))
    await observer.ready
  }
}
const take = (/** @type {import('./remote.ts').Request} */ request) =>
  void answer(request).then(
    () => say({ done: true }),
    (error) => say(reasonOf(error)),
  )
if (port) port.on('message', take)
else process.on('message', take)
