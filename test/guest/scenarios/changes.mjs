// Makes each kind of change on the host some times, and measures when watch() tells of each.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, clockOffset, library, now, parameters, phase, report, share } from './host.mjs'

/** @type {{ operations: string[], interval: number, rounds: number }} */
const { operations, interval, rounds } = parameters
const WARM_UP = 'warm-up'

/** @param {string} operation @param {number} rounds @param {number} offset */
async function play(operation, rounds, offset) {
  // The files are there before watch() begins, so that the watcher compares with them.
  await ask('directory', { path: operation })
  const existing = operation === 'create' ? 0 : rounds
  for (let n = 0; n < existing; n++) await ask('create', { path: join(operation, String(n)), text: 'one' })

  const directory = join(share, operation)
  const watcher = library.watch(directory, { interval })
  await watcher.ready
  const [covered] = watcher.coverage()

  let [path, told] = ['', 0]
  /** @type {Set<string>} */
  const types = new Set()
  /** @type {() => void} */
  let arrived = () => {}
  watcher.on('changes', (changes) => {
    for (const change of changes) {
      if (change.path !== path) continue
      types.add(change.type)
      told ||= now()
      arrived()
    }
  })

  /** @type {number[]} */
  const latencies = []
  for (let n = 0; n < rounds; n++) {
    await sleep(phase(n) * interval)
    told = 0
    path = join(directory, String(n))
    /** @type {Promise<void>} */
    const next = new Promise((resolve) => {
      arrived = resolve
    })
    const { began } = await ask(operation === WARM_UP ? 'in-place' : operation, {
      path: join(operation, String(n)),
      text: 'two',
      mode: 0o600,
    })
    await next
    latencies.push(told + offset - began)
  }
  await watcher.close()
  return { latencies, types: [...types], backend: covered?.backend }
}

// The first round is slower than a pass, because the code is not compiled yet.
await play(WARM_UP, 1, 0)
/** @type {Record<string, unknown>} */
const played = {}
for (const operation of operations) {
  const { offset, error } = await clockOffset()
  played[operation] = { ...(await play(operation, rounds, offset)), error }
}
report(played)
