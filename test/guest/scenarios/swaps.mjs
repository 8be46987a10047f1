// The kubelet's swaps on the host, and when an ordinary inotify user of the mirror's target hears of each.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, clockOffset, library, memory, now, parameters, phase, report, share } from './host.mjs'

const { formatMask, IN_ALL_EVENTS, Inotify, mirror } = library
const { interval, swaps } = parameters
/** ms after which a mirror that looks every 50 or 250 ms has got over the last swap: it is read once more, and looked at more often. */
const SETTLED = 500

const target = memory('target')
await ask('swap', { files: { a: 'version 0', b: 'version 0' } })
const mirrored = await mirror(share, target, { interval })

/** @type {string[]} */
const events = []
/** @type {() => void} */
let arrived = () => {}
const inotify = new Inotify()
// Reading left out.
inotify.add(target, IN_ALL_EVENTS & ~0x31)
let at = 0
let content = ''
inotify.on('events', (batch) => {
  for (const { mask, name } of batch) {
    if (name !== '..data') continue
    events.push(formatMask(mask))
    at = now()
    content = readFileSync(join(target, 'a'), 'utf8')
    arrived()
  }
})

const { offset, error } = await clockOffset()
/** @type {number[]} */
const latencies = []
/**
 * The ms that the swaps themselves took.
 *
 * @type {number[]}
 */
const took = []
let right = 0
for (let n = 1; n <= swaps; n++) {
  await sleep(SETTLED + phase(n) * interval)
  /** @type {Promise<void>} */
  const next = new Promise((resolve) => {
    arrived = resolve
  })
  const text = `version ${n}`
  const { began, ended } = await ask('swap', { files: { a: text, b: text } })
  await next
  latencies.push(at + offset - began)
  took.push(ended - began)
  if (content === text) right++
}
// An event too many would have come by the end of this pass.
await mirrored.refresh()
inotify.close()
await mirrored.close()
report({ latencies, took, events, right, error })
