// What inotify-bridge is for, on a ConfigMap made and updated as the kubelet does it: run by `npm start`, no root needed.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  diagnose,
  formatMask,
  IN_CREATE,
  IN_DELETE,
  IN_MOVED_FROM,
  IN_MOVED_TO,
  Inotify,
  mirror,
} from '../dist/index.js'
import { atomicWrite } from './kubelet.mjs'

const NAMES = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO

/** @param {string} text */
const say = (text) => process.stdout.write(`${text}\n`)

/**
 * Prints what an ordinary inotify watcher of `directory` sees while `change` runs, until the event that `change` ends with.
 *
 * @param {string} directory
 * @param {() => Promise<unknown>} change
 * @param {(mask: number, name: string) => boolean} isLast
 * @returns {Promise<number>} ms from the beginning of the change until `..data` was in place
 */
async function show(directory, change, isLast) {
  const inotify = new Inotify()
  inotify.add(directory, NAMES)
  const start = performance.now()
  const changed = change()
  let swapped = 0
  for await (const batch of inotify) {
    for (const { mask, cookie, name } of batch) {
      say(`    ${formatMask(mask).padEnd(21)} ${name}${cookie === 0 ? '' : `  (cookie ${cookie})`}`)
      if (mask & IN_MOVED_TO && name === '..data') swapped = performance.now() - start
      if (isLast(mask, name)) inotify.close()
    }
  }
  await changed
  return swapped
}

/** The last event of an update: the version directory before is removed. */
const oldVersionGone = (/** @type {number} */ mask, /** @type {string} */ name) =>
  (mask & IN_DELETE) !== 0 && name.startsWith('..2')

const configMap = await mkdtemp(join(tmpdir(), 'inotify-bridge-configmap-'))
const tmpfs = await mkdtemp('/dev/shm/inotify-bridge-mirror-').catch(() =>
  mkdtemp(join(tmpdir(), 'inotify-bridge-mirror-')),
)
try {
  await atomicWrite(configMap, { 'app.yaml': 'color: red\n' })

  say(
    `1. A ConfigMap in ${configMap} (${(await diagnose(configMap)).mount.type}), updated twice by the kubelet's`,
  )
  say('   AtomicWriter: real renames, and so a true IN_MOVED_TO. Each raw event on the directory:')
  for (const color of ['green', 'blue']) {
    say(`  color: ${color}`)
    await show(configMap, () => atomicWrite(configMap, { 'app.yaml': `color: ${color}\n` }), oldVersionGone)
  }

  say('')
  say(
    '2. The same directory taken for a silent mount (virtiofs in a Kata VM delivers none of these events): mirror()',
  )
  say(
    `   polls it every 250 ms, sooner after a change, and copies what changed to ${tmpfs} (${(await diagnose(tmpfs)).mount.type}).`,
  )
  say('   What an ordinary inotify watcher of the copy sees:')
  const mirrored = await mirror(configMap, tmpfs)
  for (const color of ['yellow', 'violet']) {
    say(`  color: ${color}`)
    const update = () => atomicWrite(configMap, { 'app.yaml': `color: ${color}\n` })
    const latency = await show(tmpfs, update, oldVersionGone)
    say(`    ..data was in place ${latency.toFixed(0)} ms after the update began`)
  }
  say('')
  say(`The mirror is ${mirrored.state}; it and both directories are removed now.`)
  await mirrored.close()
} finally {
  await rm(configMap, { recursive: true, force: true })
  await rm(tmpfs, { recursive: true, force: true })
}
