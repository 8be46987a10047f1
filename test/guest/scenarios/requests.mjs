// A mirror of a ConfigMap at rest: reports the requests of its passes to the share's daemon.
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, library, memory, parameters, report, share } from './host.mjs'

const { interval, keys, passes } = parameters

/** @type {Record<string, string>} */
const files = {}
for (let n = 0; n < keys; n++) files[`key-${n}`] = `value ${n}`
await ask('swap', { files })
const mirrored = await library.mirror(share, memory('target'), { interval })
// The second look comes after the first: files that have just been written are read once more.
await sleep(8 * interval)
// The time that separates two passes: longer than any wait within a pass, shorter than the wait for the next
// one.
const gap = interval / 3
await ask('requests', { gap })
await sleep(passes * interval)
const answer = await ask('requests', { gap })
await mirrored.close()
report(answer.passes)
