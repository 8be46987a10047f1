// Two changes of a directory at one time of the server's clock, and when `by` ("mirror" or "watch") has the second, which no attribute
// tells of.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, library, memory, now, parameters, report, share } from './host.mjs'

/** ms that vfat's times are apart. */
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
  // The kernel remembers the directory as it is now; where that took too long, once more.
  const remembered = readdirSync(share)
  const { began } = await ask('create', { path: `second-${n}`, text: 'two' })
  const isSameTime = tick() === during && !remembered.includes(`second-${n}`)
  const ordinary = readdirSync(share).includes(`second-${n}`)
  const latency = (await seen(`second-${n}`)) - began
  // Where a poll came before, readdir() has what that was told, and the round shows nothing.
  if (isSameTime && !ordinary) report({ latency })
}
