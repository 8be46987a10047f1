// Records the events of two ordinary inotify users during the kubelet's updates on the host: one watches the
// share, one a mirror's target.
import { ask, clockOffset, library, memory, now, parameters, report, share } from './host.mjs'

const { formatMask, IN_CREATE, IN_DELETE, IN_MOVED_FROM, IN_MOVED_TO, Inotify, mirror } = library

/** @typedef {{ at: number, event: string, name: string }} Heard */

/**
 * Calls `told` with each event, at the guest's time.
 *
 * @param {string} directory
 * @param {(event: Heard) => void} told
 */
function listen(directory, told) {
  const inotify = new Inotify()
  inotify.add(directory, IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
  inotify.on('events', (batch) => {
    for (const { mask, name } of batch) told({ at: now(), event: formatMask(mask), name })
  })
  return inotify
}

const target = memory('target')
await ask('swap', { files: { 'app.yaml': 'color: red\n' } })
const mirrored = await mirror(share, target)

/** @type {Heard[]} */
const onShare = []
/** @type {Heard[]} */
const onTarget = []
/**
 * Is called at the last event of an update, when the version before is removed.
 *
 * @type {() => void}
 */
let isOver = () => {}
const watchers = [
  listen(share, (event) => onShare.push(event)),
  listen(target, (event) => {
    onTarget.push(event)
    if (event.event === 'IN_DELETE|IN_ISDIR') isOver()
  }),
]

const { offset } = await clockOffset()
/** @type {number[]} */
const updates = []
for (const color of parameters.colors) {
  /** @type {Promise<void>} */
  const over = new Promise((resolve) => {
    isOver = resolve
  })
  const { began } = await ask('swap', { files: { 'app.yaml': `color: ${color}\n` } })
  updates.push(began)
  await over
  // All events of the share have come by the end of a refresh.
  await mirrored.refresh()
}
for (const inotify of watchers) inotify.close()
await mirrored.close()

const [start = 0] = updates
/** @param {Heard} event */
const asOfHost = ({ at, ...event }) => ({ ...event, at: Math.round(at + offset - start) })
report({
  updates: updates.map((at) => Math.round(at - start)),
  share: onShare.map(asOfHost),
  target: onTarget.map(asOfHost),
})
