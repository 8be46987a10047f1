// Runs in a mount namespace of its own. Stops the server of a FUSE mount, and prints as JSON the changes of a
// local directory beside the mount, how long the loop was held, and how long close() took.
//
//   unshare -rm node stopped.mjs DIRECTORY CASE
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serveFuse } from '../../mirror/fuse_mount.mjs'

const [, , base = '', name = ''] = process.argv
/** No literal path, because dist is missing before the build. @type {typeof import('../../../src/entries/watch.ts')} */
const { watch } = await import(join(import.meta.dirname, '../../../dist/watch.js'))
/** Long in comparison with a poll. */
const INTERVAL_MS = 500

const at = (/** @type {string} */ path) => join(base, path)

/** The roots and links beside the local directory. @type {Record<string, { roots?: string[], link?: string, options?: import('../../../src/entries/watch.ts').WatchOptions, isMounted?: true, isStopped?: true }>} */
const CASES = {
  directory: { roots: ['front/d'] },
  file: { roots: ['front/f'] },
  files: { roots: ['front/f', 'front/g'] },
  missing: { roots: ['front/missing'] },
  'link to a file': { link: '../front/f', options: { followSymlinks: true } },
  'link to a directory': { link: '../front/d', options: { followSymlinks: true, recursive: true } },
  'directory, and a mount elsewhere': { roots: ['front/d'], isMounted: true },
  'file, and a mount elsewhere': { roots: ['front/f'], isMounted: true },
  'missing, and a mount elsewhere': { roots: ['front/missing'], isMounted: true },
  'directory, before the start': { roots: ['front/d'], isStopped: true },
  'file, before the start': { roots: ['front/f'], isStopped: true },
  'missing, before the start': { roots: ['front/missing'], isStopped: true },
}

const { roots = [], link, options, isMounted, isStopped } = CASES[name] ?? {}
for (const path of ['back/d', 'front', 'local', 'other']) mkdirSync(at(path), { recursive: true })
for (const path of ['back/f', 'back/g']) writeFileSync(at(path), '')
if (link !== undefined) symlinkSync(link, at('local/link'))
// The kernel caches nothing: each look asks the server.
const server = await serveFuse(at('back'), at('front'), '', '1', 0)
const stop = async () => {
  server.kill('SIGSTOP')
  while (!/^State:\tT/m.test(readFileSync(`/proc/${server.pid}/status`, 'utf8'))) await sleep(1)
}
let [last, held] = [performance.now(), 0]
setInterval(() => {
  held = Math.max(held, performance.now() - last)
  last = performance.now()
}, 10).unref()

if (isStopped) await stop()
const watcher = watch([at('local'), ...roots.map(at)], { interval: INTERVAL_MS, settle: 0, ...options })
/** @type {Set<string>} */
const told = new Set()
watcher.on('changes', (changes) => {
  for (const { type, path } of changes) told.add(`${type} ${path.slice(base.length)}`)
})
watcher.ready.catch(() => {})
if (!isStopped) {
  await watcher.ready
  // Stops the server between two polls: a task that is under way waits for the server's answer.
  await stop()
  // By then a poll has asked the server, and has no answer.
  await sleep(2 * INTERVAL_MS)
  if (isMounted) execFileSync('mount', ['-t', 'tmpfs', 'none', at('other')])
  for (let i = 0; i < 500 && told.size === 0; i++) {
    writeFileSync(at(`local/${i}`), '')
    await sleep(10)
  }
} else await sleep(200)
const began = performance.now()
await watcher.close()
console.log(JSON.stringify({ isTold: told.has('create /local/0'), held, closed: performance.now() - began }))
process.kill(process.pid, 'SIGKILL')
