// Stops the share's daemon for a while. Reports what this process can still do, and the changes that it tells
// once the daemon answers again.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { ask, library, memory, now, parameters, report, share } from './host.mjs'

const { interval, mirrors, watchers, ms } = parameters
const { mirror, watch } = library

/**
 * The time at which each mirror and watcher of the share has told its change.
 *
 * @type {Map<string, number>}
 */
const told = new Map()
/** @type {() => void} */
let arrived = () => {}
/** @param {string} who */
const tell = (who) => {
  if (!told.has(who)) told.set(who, now())
  arrived()
}

/** @type {Array<{ close(): Promise<void> }>} */
const open = []
for (let n = 0; n < mirrors; n++) {
  await ask('directory', { path: `mirror-${n}` })
  await ask('swap', { path: `mirror-${n}`, files: { key: 'one' } })
  const mirrored = await mirror(join(share, `mirror-${n}`), memory(`target-${n}`), { interval })
  mirrored.on('update', () => tell(`mirror-${n}`))
  open.push(mirrored)
}
for (let n = 0; n < watchers; n++) {
  await ask('directory', { path: `watch-${n}` })
  await ask('create', { path: `watch-${n}/key`, text: 'one' })
  const watcher = watch(join(share, `watch-${n}`), { interval })
  await watcher.ready
  watcher.on('changes', () => tell(`watch-${n}`))
  open.push(watcher)
}

// Another watcher, of a directory that this kernel changes itself.
const elsewhere = memory('elsewhere')
const other = watch(elsewhere)
await other.ready
let begun = 0
/** @type {number[]} */
const latencies = []
other.on('changes', (changes) => {
  for (const { type } of changes) if (type === 'create') latencies.push(now() - begun)
})

/**
 * The longest time of this process's own asynchronous reads, which need one of the four threads of libuv's
 * pool.
 */
let pool = 0
let written = 0
/**
 * Writes files beside the share, 10 a second.
 *
 * @param {number} until
 */
async function write(until) {
  while (now() < until) {
    begun = now()
    const asked = begun
    const path = join(elsewhere, `${begun}`)
    writeFileSync(path, '')
    written++
    void readFile(path).then(() => {
      pool = Math.max(pool, now() - asked)
    })
    await sleep(100)
  }
}

/**
 * Measures the delay of a loop that has nothing to do. The machine's one processor is interpreted, and the
 * interpreting thread has to wait for a real processor: only a delay that this loop does not meet is a stall.
 */
const bystander = new Worker(
  `const { parentPort } = require('node:worker_threads')
   const delay = require('node:perf_hooks').monitorEventLoopDelay({ resolution: 1 })
   delay.enable()
   parentPort.on('message', () => {
     parentPort.postMessage(delay.max / 1e6)
     delay.reset()
   })`,
  { eval: true },
)
/**
 * Returns the longest delay since the last call, ms.
 *
 * @returns {Promise<number>}
 */
async function bystanding() {
  const [answer] = await Promise.all([once(bystander, 'message'), bystander.postMessage('')])
  return answer[0]
}

// Compiles and collects in advance, so that neither counts as a stall: a full collection takes some 90 ms of
// this processor.
await Promise.all([write(now() + 2000), ask('ping')])
setFlagsFromString('--expose-gc')
runInNewContext('gc')()
await bystanding()
written = pool = latencies.length = 0
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const stopped = now()
await ask('stop', { ms })
for (let n = 0; n < mirrors; n++) await ask('swap', { path: `mirror-${n}`, files: { key: 'two' } })
for (let n = 0; n < watchers; n++) await ask('rename-over', { path: `watch-${n}/key`, text: 'two' })
await write(stopped + ms - 1000)
delay.disable()
const stall = delay.max / 1e6
const beside = await bystanding()
const early = told.size

/** @type {Promise<void>} */
const all = new Promise((resolve) => {
  arrived = () => {
    if (told.size === mirrors + watchers) resolve()
  }
  arrived()
})
await Promise.race([all, sleep(ms + 10_000)])
const resumed = stopped + ms
report({
  stall,
  bystander: beside,
  elsewhere: { written, told: latencies.length, slowest: Math.max(...latencies) },
  pool,
  early,
  told: [...told.keys()],
  after: Math.max(...told.values()) - resumed,
})
