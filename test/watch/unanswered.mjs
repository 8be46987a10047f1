// Runs in a mount namespace of its own. Watches a tree with a FUSE mount that does not answer. Prints as JSON
// how long watch() took, in ms, and the changes of the same turn.
//
//   unshare -rm node unanswered.mjs DIRECTORY
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serveFuse } from '../mirror/fuse_mount.mjs'

const [, , base = ''] = process.argv
/** No literal path, because dist is missing before the build. @type {typeof import('../../src/entries/watch.ts')} */
const { watch } = await import(join(import.meta.dirname, '../../dist/watch.js'))
const at = (/** @type {string} */ name) => join(base, name)
for (const name of ['back/d', 'root/a/mount', 'root/b']) mkdirSync(at(name), { recursive: true })
const server = await serveFuse(at('back'), at('root/a/mount'))
server.kill('SIGSTOP')
while (!/^State:\tT/m.test(readFileSync(`/proc/${server.pid}/status`, 'utf8'))) await sleep(1)
const began = performance.now()
const watcher = watch(at('root'), { recursive: true })
const took = performance.now() - began
mkdirSync(at('root/b/new'))
/** @type {string[]} */
const told = []
watcher.on('changes', (changes) =>
  told.push(...changes.map(({ type, path }) => `${type} ${path.slice(base.length)}`)),
)
server.kill('SIGCONT')
await watcher.ready
await watcher.sync()
await watcher.close()
server.kill('SIGKILL')
console.log(JSON.stringify({ took, told }))
