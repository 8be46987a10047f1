// Asks how fast a full queue empties. The loop is blocked while a writer fills the kernel's queue. The clock
// runs from the moment the loop is free to the last event.
import { openSync, readFileSync, readSync, writeSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { median } from '../../rounds.mjs'
import { watchBy } from '../../watchers/one_directory.mjs'

const EVENTS = 2500
const FILLS = 50
/**
 * inotify-bridge's guard thread takes events from the kernel that have waited 6 to 12 ms. It would do so off
 * the clock, so a fill that took longer does not count, for no subject. Most fills take 4 to 6 ms; 6000
 * events took 13, on a newer kernel.
 */
const GUARD_BEGINS_MS = 7.5
/**
 * The first fills, which the median leaves out: JavaScript is not compiled yet. C leaves them out as well.
 */
const WARM_UP = 10
/** Long enough for the guard to take all events. */
const GUARD_HAS_ALL_MS = 50
const OF_THE_GUARD = 'inotify-bridge, of the guard'

const MAX_QUEUED_EVENTS = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'))

/** @type {import('../../question.mjs').Question} */
export const capacity = {
  name: 'capacity',
  asks: `How fast does a queue of ${EVENTS} events empty?`,
  note:
    'From the end of the block to the last event; wd, mask and name of each looked at. "of the guard": the loop was\n' +
    `blocked ${GUARD_HAS_ALL_MS} ms more, its guard thread had read the kernel's queue meanwhile, and only its arena was emptied.`,
  rounds: 7,
  subjects: ['raw C', 'inotify-bridge', OF_THE_GUARD, 'fs.watch'],
  figures: [
    { name: 'rate', unit: 'k events/s', digits: 0, ratiosTo: ['raw C', 'fs.watch'] },
    { name: 'blocked', unit: 'ms', digits: 1 },
  ],
  targets: [
    { subject: 'inotify-bridge', figure: 'rate', by: 'raw C', atLeast: 0.75 },
    { subject: 'inotify-bridge', figure: 'rate', by: 'fs.watch', atLeast: 1.4 },
  ],

  async measure(subject, { scratch, children }) {
    const events = Math.min(EVENTS, MAX_QUEUED_EVENTS >> 1)
    const directory = scratch.newDirectory()
    const { go, done } = scratch.newFifos()
    const writer = children.startWriter('fill', directory, events, go, done)
    await writer.next()
    const reader = startReader(children, subject, [directory, go, done, FILLS, events])
    await reader.next()
    /** @type {{ blockedMs: number[], drainMs: number[] }} */
    const { blockedMs, drainMs } = await reader.next()
    const counts = (/** @type {number} */ fill) =>
      fill >= WARM_UP && (subject === OF_THE_GUARD || (blockedMs[fill] ?? 0) < GUARD_BEGINS_MS)
    return {
      rate: events / median(drainMs.filter((_, fill) => counts(fill))),
      blocked: median(blockedMs.filter((_, fill) => counts(fill))),
    }
  },
}

/**
 * @param {import('../../children.mjs').Children} children
 * @param {string} subject
 * @param {(string | number)[]} args
 */
function startReader(children, subject, args) {
  if (subject === 'raw C') return children.startRawReader('capacity', ...args)
  if (subject === OF_THE_GUARD) {
    return children.startSubject('events/capacity', 'inotify-bridge', ...args, GUARD_HAS_ALL_MS)
  }
  return children.startSubject('events/capacity', subject, ...args, 0)
}

/** @param {import('../../subject.mjs').Subject} subject */
export async function answer({ watcher, directory, args, say }) {
  const [go = '', done = '', ...numbers] = args
  const [fills = 0, events = 0, holdMs = 0] = numbers.map(Number)
  let seen = 0
  let lookedAt = 0
  let onDrained = () => {}
  /** @returns {Promise<void>} */
  const drained = () =>
    new Promise((resolve) => {
      onDrained = resolve
    })
  const close = await watchBy(
    watcher,
    directory,
  )((name, mask, wd) => {
    lookedAt += name.length + mask + wd
    if (++seen === events) onDrained()
  })
  say({ ready: true })

  const goFd = openSync(go, 'w')
  const doneFd = openSync(done, 'r')
  const byte = Buffer.alloc(1)
  const never = new Int32Array(new SharedArrayBuffer(4))
  const blockedMs = []
  const drainMs = []
  for (let fill = 0; fill < fills; fill++) {
    seen = 0
    const filling = performance.now()
    writeSync(goFd, byte)
    readSync(doneFd, byte)
    if (holdMs > 0) Atomics.wait(never, 0, 0, holdMs)
    const start = performance.now()
    await drained()
    drainMs.push(performance.now() - start)
    blockedMs.push(start - filling)
    // A pause, so that each fill finds a watcher at rest: in none of its batching windows.
    await setTimeout(10)
  }
  close()
  say({ blockedMs, drainMs, lookedAt })
}
