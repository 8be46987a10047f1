// Makes two changes of a directory at one time of the server's clock, and measures when `by` ("mirror" or
// "watch") has the second one, which no attribute shows.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, library, memory, now, parameters, report, share } from './host.mjs'

/** ms between two times of vfat. */
const TICK = 2000

/** @type {{ by: 'mirror' | 'watch', interval: number }} */
const { by, interval } = parameters

const target = memory('target')
/** @type {Set<string>} */
const told = new Set()
if (by === 'mirror') await library.mirror(share, target, { interval, quiet: 0 })
else {
  const watcher = library.watch(share, { interval })
  watcher.on('changes', (changes) => {
    for (const { path } of changes) told.add(path)
  })
  await watcher.ready
}

/** @param {string} name */
async function seen(name) {
  while (!told.has(join(share, name)) && !existsSync(join(target, name))) await sleep(5)
  return now()
}

const tick = () => Math.floor(Date.now() / TICK)

for (let n = 0; ; n++) {
  const before = tick()
  while (tick() === before) await sleep(1)
  const during = tick()
  await ask('create', { path: `first-${n}`, text: 'one' })
  await seen(`first-${n}`)
  // The kernel caches the directory in its present state. If that takes too long, another round follows.
  const remembered = readdirSync(share)
  const { began } = await ask('create', { path: `second-${n}`, text: 'two' })
  const isSameTime = tick() === during && !remembered.includes(`second-${n}`)
  const ordinary = readdirSync(share).includes(`second-${n}`)
  const latency = (await seen(`second-${n}`)) - began
  // If a poll came first, readdir() sees the poll's listing, and the round shows nothing.
  if (isSameTime && !ordinary) report({ latency })
}
