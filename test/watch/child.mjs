// node child.mjs PATHS OPTIONS [UID]: a watcher in a process of its own, which can be stopped, have another user's rights or another
// mount namespace. Says a line of JSON for each array of changes, and answers each line that it is given: sync, coverage, a path, which is
// added, or [PATHS, OPTIONS], which are watched from then on, and nothing else.
import { createInterface } from 'node:readline'
import { watch } from '../../dist/index.js'

const [paths, options, uid] = process.argv.slice(2).map((argument) => JSON.parse(argument))
const say = (/** @type {object} */ what) => process.stdout.write(`${JSON.stringify(what)}\n`)

if (uid !== undefined) process.setuid?.(uid)
async function begin(
  /** @type {string | string[]} */ paths,
  /** @type {import('../../dist/index.js').WatchOptions} */ options,
) {
  const watcher = watch(paths, options)
  watcher.on('changes', (changes) => say({ changes }))
  watcher.on('error', (error) => say({ error: { ...error, message: error.message } }))
  await watcher.ready
  return watcher
}

let watcher = await begin(paths, options)
say({ answer: 'ready' })

for await (const request of createInterface(process.stdin)) {
  if (request === 'sync') await watcher.sync()
  else if (request.startsWith('/')) await watcher.add(request)
  else if (request.startsWith('[')) {
    await watcher.close()
    const [others, theirs] = JSON.parse(request)
    watcher = await begin(others, theirs)
  }
  say({ answer: request === 'coverage' ? watcher.coverage() : request })
}
await watcher.close()
