// Runs in a user and mount namespace, on a tmpfs of its own. Watches ConfigMaps behind FUSE mounts, changes
// the files behind the mounts, and prints as JSON the requests to the server and the changes.
//
//   unshare -rm node stat_only.mjs SCENARIO DIRECTORY
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atomicWrite } from '../../../examples/kubelet.mjs'
import { serve } from '../../mirror/fuse_mount.mjs'

/** No literal path, because dist is missing before the build. @type {typeof import('../../../src/index.ts')} */
const { watch } = await import(join(import.meta.dirname, '../../../dist/index.js'))

/** Longer than the server takes for a pass on a busy machine: after a slower pass JavaScript polls. */
const INTERVAL = 400
/** Longer than native/scan/stat_only.h takes to consider a directory quiet. */
const SETTLED = 4500
const GETATTR = 3
const [, , scenario = '', base = ''] = process.argv
const [back, front, log] = [join(base, 'back'), join(base, 'mounts/front'), join(base, 'requests')]

if (spawnSync('mount', ['-t', 'tmpfs', 'none', base]).status !== 0) throw new Error('mount -t tmpfs failed')
for (const path of [back, front]) fs.mkdirSync(path, { recursive: true })
fs.writeFileSync(log, '')

/** @param {string} text */
const keys = (text) => Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`key-${n}`, text]))

const program = join(import.meta.dirname, '../../mirror/fuse_server.mjs')
async function serveFuse(tick = '1') {
  try {
    // The kernel caches names for an hour: only a watcher that looks names up anew sees a change.
    await serve([process.execPath, program, back, front, '3600', '', '', log, tick], front)
  } catch (error) {
    process.stdout.write(JSON.stringify({ unable: String(error) }))
    process.exit()
  }
}

/** Returns the server's requests since the log was emptied: the time and the opcode of each. */
function asked() {
  const lines = fs.readFileSync(log, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => line.split(' ').map(Number))
}

/**
 * Does the same as {@link requestsMeanwhile}, and tries again after a thorough pass: the next one is 10 s
 * away.
 */
async function requests() {
  let found = await requestsMeanwhile()
  for (let tries = 1; tries < 3 && found.opcodes.some((opcode) => opcode !== GETATTR); tries++)
    found = await requestsMeanwhile()
  return found
}

/** Returns the least number of intervals, and the requests in them. */
async function requestsMeanwhile() {
  fs.truncateSync(log)
  const began = performance.now()
  await sleep(6 * INTERVAL)
  while (asked().length < 4 && performance.now() - began < 30_000) await sleep(INTERVAL)
  const opcodes = asked().map(([, opcode]) => opcode)
  return { intervals: Math.ceil((performance.now() - began) / INTERVAL), opcodes }
}

/** Returns the opcodes of each of the next passes. A pause in the requests separates two passes. */
async function passes() {
  fs.truncateSync(log)
  await sleep(6 * INTERVAL)
  /** @type {number[][]} */
  const found = []
  let last = 0
  for (const [at = 0, opcode = 0] of asked()) {
    if (at - last > INTERVAL / 2) found.push([])
    last = at
    found.at(-1)?.push(opcode)
  }
  return found
}

/** @param {string} path @param {import('../../../src/watch/options.ts').WatchOptions} [options] */
async function watching(path, options) {
  const watcher = watch(path, { interval: INTERVAL, ...options })
  /** @type {import('../../../src/index.ts').Change[]} */
  const changes = []
  watcher.on('changes', (some) => changes.push(...some))
  await watcher.ready
  await sleep(SETTLED)
  changes.splice(0)
  return {
    coverage: watcher.coverage().map(({ why }) => why),
    /**
     * Waits for the change of this name, and counts the passes since it was made that asked only for the
     * times of a directory.
     *
     * @param {string} name @param {() => unknown} change
     */
    async until(name, change) {
      await change()
      fs.truncateSync(log)
      const began = performance.now()
      const isIt = (/** @type {any} */ each) => each.path.endsWith(`/${name}`)
      while (!changes.some(isIt)) {
        if (performance.now() - began > 30_000)
          throw new Error(`nothing of ${name}: ${JSON.stringify(changes)}`)
        await sleep(1)
      }
      const { type } = /** @type {import('../../../src/index.ts').Change} */ (changes.find(isIt))
      changes.splice(0)
      const opcodes = asked().map(([, opcode]) => opcode)
      const other = opcodes.findIndex((opcode) => opcode !== GETATTR)
      return { type, glances: other === -1 ? opcodes.length : other }
    },
  }
}

/** @param {import('../../../src/watch/options.ts').WatchOptions} options */
async function quiet(path = front, options = {}) {
  return await polled(path, options, requests)
}

/** @template T @param {string} path @param {import('../../../src/watch/options.ts').WatchOptions} options @param {() => Promise<T>} look */
async function polled(path, options, look) {
  await atomicWrite(back, keys('one'))
  await serveFuse()
  const { coverage, until } = await watching(path, options)
  const atRest = await look()
  const swap = await until('..data', () => atomicWrite(back, keys('two')))
  return { coverage, atRest, swap }
}

/** @type {Record<string, () => Promise<unknown>>} */
const scenarios = {
  names: () => quiet(),
  recursive: () => quiet(front, { recursive: true }),
  // The mount lies below the watched directory.
  below: () => quiet(join(base, 'mounts'), { recursive: true }),
  hash: () => polled(front, { recursive: true, hash: true }, passes),

  async inPlace() {
    await atomicWrite(back, keys('one'))
    await serveFuse()
    const { until } = await watching(front, { recursive: true })
    return await until('key-3', () => fs.writeFileSync(join(back, '..data/key-3'), 'two'))
  },

  // A user's file lies beside the links.
  async flat() {
    await atomicWrite(back, keys('one'))
    await serveFuse()
    const { until } = await watching(front)
    const path = join(back, 'flat')
    const made = await until('flat', () => fs.writeFileSync(path, 'one'))
    await sleep(SETTLED)
    const atRest = await passes()
    const { atime, mtime } = fs.statSync(path)
    const written = await until('flat', () => {
      fs.writeFileSync(path, 'two')
      fs.utimesSync(path, atime, mtime)
    })
    return { made, atRest, written }
  },

  // The server's clock ticks once a second: two swaps in a second look alike.
  async ticks() {
    await atomicWrite(back, keys('one'))
    await serveFuse('1000000000')
    const { until } = await watching(front)
    /** @param {number} ms after a tick */
    const at = (ms) => sleep(1000 - (Date.now() % 1000) + ms)
    await at(50)
    const first = await until('..data', () => atomicWrite(back, keys('two')))
    // Long enough for a few passes, which follow each other closely now.
    await sleep(250)
    const isOneTick = Date.now() % 1000 < 900
    const second = await until('..data', () => atomicWrite(back, keys('one')))
    return { first, second, isOneTick }
  },
}

process.stdout.write(JSON.stringify(await scenarios[scenario]?.()))
process.exit()
