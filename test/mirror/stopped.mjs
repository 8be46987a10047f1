// Runs in a mount namespace, on a tmpfs of its own: the server of a FUSE mount does not answer for a while, and what this process can
// still do is printed as JSON.
//
//   unshare -rm node stopped.mjs resumed|closed|starting DIRECTORY
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { serveFuse } from './fuse_mount.mjs'

const STOPPED = 3000
const INTERVAL = 100
const [, , scenario = '', base = ''] = process.argv

/** Not a literal: dist is there only once it has been built. @type {typeof import('../../src/index.ts')} */
const { mirror, watch } = await import(join(import.meta.dirname, '../../dist/index.js'))

if (spawnSync('mount', ['-t', 'tmpfs', 'none', base]).status !== 0) throw new Error('mount -t tmpfs failed')
const at = (/** @type {string} */ name) => join(base, name)
for (const name of ['back', 'front', 'other', 'watched']) fs.mkdirSync(at(name))
await atomicWrite(at('back'), { key: 'one' })
const server = await serveFuse(at('back'), at('front'))
const blocked = await mirror(at('front'), at('target'), { interval: INTERVAL, quiet: 5 })
/** @type {string[]} */
const states = []
blocked.on('state', (state, reason) => states.push(`${state} ${reason}`))

/** All that this process has to do elsewhere; called in turn while the server is stopped. */
async function elsewhere() {
  fs.writeFileSync(at('other/key'), 'zero')
  const other = await mirror(at('other'), at('other-target'), { interval: INTERVAL, quiet: 5 })
  const watcher = watch(at('watched'))
  await watcher.ready
  const seen = { mirrored: 0, watched: 0, pool: 0, turns: 0 }
  return {
    seen,
    async turn() {
      const n = seen.turns++
      const began = performance.now()
      const [mirrored, watched] = [once(other, 'update'), once(watcher, 'changes')]
      fs.writeFileSync(at('other/key'), `turn ${n}`)
      fs.writeFileSync(at(`watched/${n}`), '')
      // More of them than libuv's pool has threads.
      await Promise.all(Array.from({ length: 8 }, () => fs.promises.readFile(at('other/key'))))
      seen.pool = Math.max(seen.pool, performance.now() - began)
      await watched
      seen.watched = Math.max(seen.watched, performance.now() - began)
      await mirrored
      seen.mirrored = Math.max(seen.mirrored, performance.now() - began)
    },
    async end() {
      await watcher.close()
      await other.close()
    },
  }
}

/** The next warning of a thread that is left behind; that looks are slow is warned of as well. @returns {Promise<NodeJS.ErrnoException>} */
function leftBehind() {
  return new Promise((resolve) => {
    process.on('warning', function warned(/** @type {NodeJS.ErrnoException} */ warning) {
      if (warning.code !== 'INOTIFY_BRIDGE_LEFT_BEHIND') return
      process.off('warning', warned)
      resolve(warning)
    })
  })
}

/** Stops the server, and returns when the mirror waits for it. */
async function stop() {
  server.kill('SIGSTOP')
  while (!/^State:\tT/m.test(fs.readFileSync(`/proc/${server.pid}/status`, 'utf8'))) await sleep(1)
  // Two looks at the source would have been begun by now.
  await sleep(2 * INTERVAL)
}

/** @type {Record<string, () => Promise<unknown>>} */
const scenarios = {
  async resumed() {
    const { seen, turn, end } = await elsewhere()
    // Compiles and collects garbage first, so that neither counts as a stall.
    for (let n = 0; n < 3; n++) await turn()
    Object.assign(seen, { mirrored: 0, watched: 0, pool: 0, turns: 3 })
    // Roots that are files, more of them than libuv's pool has threads.
    const files = Array.from({ length: 5 }, () =>
      watch(at('front/key'), { backend: 'poll', interval: INTERVAL }),
    )
    await Promise.all(files.map((file) => file.ready))
    await stop()
    const began = performance.now()
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    await atomicWrite(at('back'), { key: 'two' })
    while (performance.now() - began < STOPPED) await turn()
    delay.disable()
    const early = fs.readFileSync(at('target/key'), 'utf8')
    const updated = once(blocked, 'update')
    const told = Promise.all(files.map((file) => once(file, 'changes')))
    server.kill('SIGCONT')
    const resumed = performance.now()
    const [{ changed }] = await updated
    const after = performance.now() - resumed
    const content = fs.readFileSync(at('target/key'), 'utf8')
    const types = (await told).map(([[{ type }]]) => type)
    for (const file of files) await file.close()
    await end()
    await blocked.close()
    server.kill('SIGKILL')
    return { ...seen, stall: delay.max / 1e6, early, changed, after, content, types, states }
  },

  // close() while it is stopped, and then this process ends while it still is.
  async closed() {
    const watcher = watch(at('front'), { backend: 'poll', interval: INTERVAL })
    await watcher.ready
    await stop()
    const warned = leftBehind()
    const pass = blocked.refresh()
    await sleep(600)
    const began = performance.now()
    await blocked.close()
    const took = performance.now() - began
    const warning = await warned
    await pass
    const warnedAgain = leftBehind()
    await watcher.close()
    const ofWatch = await warnedAgain
    // It is not to be this that keeps the process.
    server.unref()
    server.stderr?.destroy()
    return {
      took,
      code: warning.code,
      message: warning.message,
      ofWatch: { code: ofWatch.code, message: ofWatch.message },
      isThere: fs.existsSync(at('target')),
      pid: server.pid,
    }
  },

  // SIGTERM while the command waits for its source to be opened at all.
  async starting() {
    await blocked.close()
    await stop()
    const main = join(import.meta.dirname, '../../dist/cli.js')
    const args = [main, 'mirror', '--listen', '127.0.0.1:0', at('front'), at('second')]
    const command = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(command.stdout, 'data')
    // It is the next thing that it does.
    await sleep(300)
    const began = performance.now()
    command.kill('SIGTERM')
    const [code, signal] = await once(command, 'exit')
    server.unref()
    server.stderr?.destroy()
    return { took: performance.now() - began, code, signal, isThere: fs.existsSync(at('second')) }
  },
}
process.stdout.write(JSON.stringify(await scenarios[scenario]?.()))
