// Runs in a user and mount namespace, on a tmpfs of its own: what lies behind a FUSE mount is changed, and what a reloader of that mount
// has told is printed as JSON.
//
//   unshare -rm node silent.mjs SCENARIO DIRECTORY
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { serveFuse } from '../mirror/fuse_mount.mjs'

const [, , scenario = '', base = ''] = process.argv
// Inotify alone sees nothing of what happens behind the mount.
if (scenario === 'interval') process.env.INOTIFY_BRIDGE_BACKEND = 'inotify'
/** Not a literal: dist is there only once it has been built. @type {typeof import('../../src/index.ts')} */
const { reload } = await import(join(import.meta.dirname, '../../dist/index.js'))

if (spawnSync('mount', ['-t', 'tmpfs', 'none', base]).status !== 0) throw new Error('mount -t tmpfs failed')
const [back, front] = [join(base, 'back'), join(base, 'front')]
for (const path of [back, front]) fs.mkdirSync(path)
await atomicWrite(back, { key: 'one' })
const server = await serveFuse(back, front)

const reloader = reload({
  paths: [front],
  action: { command: ['true'] },
  delay: 50,
  interval: scenario === 'polled' ? 60_000 : 200,
})
/** @type {string[]} */
const told = []
/** @type {string[][]} */
const changed = []
reloader.on('reload', (event) => {
  told.push('reload')
  changed.push(event.changed)
})
reloader.on('error', (error) => told.push(String(Object(error).code)))
await reloader.ready

/** @param {() => boolean} holds */
async function until(holds) {
  while (!holds()) await sleep(5)
}

/** @type {Record<string, () => Promise<object>>} */
const scenarios = {
  /** A swap, seen by the look of the interval, or by polling. */
  async interval() {
    await atomicWrite(back, { key: 'two' })
    await once(reloader, 'reload')
    return {}
  },
  /** The mount goes: the empty directory beneath it is no content. */
  async unmounted() {
    server.kill('SIGKILL')
    if (spawnSync('umount', ['-l', front]).status !== 0) throw new Error('umount failed')
    await until(() => told.length > 0)
    await reloader.trigger()
    const during = [...told]
    await serveFuse(back, front)
    await reloader.trigger()
    return { during }
  },
  /** The server stops answering. */
  async stopped() {
    server.kill('SIGSTOP')
    const triggered = reloader.trigger()
    await until(() => told.length > 0)
    const began = performance.now()
    // More of them than libuv's pool has threads.
    await Promise.all(Array.from({ length: 8 }, () => fs.promises.readFile(join(back, 'key'))))
    const pool = performance.now() - began
    server.kill('SIGCONT')
    await triggered
    server.kill('SIGSTOP')
    const again = reloader.trigger()
    await sleep(50)
    const closed = performance.now()
    await reloader.close()
    const closing = performance.now() - closed
    await again
    return { pool, closing }
  },
}
scenarios.polled = /** @type {() => Promise<object>} */ (scenarios.interval)

const result = await scenarios[scenario]?.()
process.stdout.write(JSON.stringify({ told, changed, ...result }))
process.exit()
