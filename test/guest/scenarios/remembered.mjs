// Measures for how long stat() gives the attributes from before a change behind the mount.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, now, parameters, report, share } from './host.mjs'

/** @type {{ rounds: number }} */
const { rounds } = parameters

/** @type {number[]} */
const latencies = []
for (let n = 0; n < rounds; n++) {
  await ask('create', { path: `${n}`, text: 'one' })
  const path = join(share, `${n}`)
  const { size } = statSync(path)
  const { began } = await ask('in-place', { path: `${n}`, text: 'longer' })
  while (statSync(path).size === size) await sleep(5)
  latencies.push(now() - began)
}
report({ latencies })
