// A mirror of a ConfigMap at rest: what its passes ask the share's daemon for.
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, library, memory, parameters, report, share } from './host.mjs'

const { interval, keys, passes } = parameters

/** @type {Record<string, string>} */
const files = {}
for (let n = 0; n < keys; n++) files[`key-${n}`] = `value ${n}`
await ask('swap', { files })
const mirrored = await library.mirror(share, memory('target'), { interval })
// What follows the first look: files that have just been written are looked at once more.
await sleep(8 * interval)
// What lies between two passes: longer than any wait within one, shorter than that for the next.
const gap = interval / 3
await ask('requests', { gap })
await sleep(passes * interval)
const answer = await ask('requests', { gap })
await mirrored.close()
report(answer.passes)
