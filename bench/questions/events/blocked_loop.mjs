// Asks how many of 200,000 events are delivered that were made while the loop was blocked.
import { execFileSync } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'
import { untilItSawTheLast } from '../../children.mjs'
import { countUntilLast, watchBy } from '../../watchers/one_directory.mjs'

const EVENTS = 200_000
const BLOCKED_MS = 2000
const SMALL_ARENA_BYTES = 1024 * 1024
const IS_SILENT = new Set(['fs.watch', 'inotifywait'])

/** @type {import('../../question.mjs').Question} */
export const blockedLoop = {
  name: 'blocked-loop',
  asks: `What is left of ${EVENTS} events made while the loop is blocked for ${BLOCKED_MS / 1000} s?`,
  note:
    '"in order": each event\'s name is that of the one before, or a later one. "to the last": from the end of the block\n' +
    'to the last event. fs.watch has no way to say that events were lost; inotifywait has none where events are chosen by -e. Of the others\n' +
    'the one who takes events from the channel, or reads what is printed, is blocked: the channel of Rust notify has no bound.',
  rounds: 3,
  subjects: [
    'inotify-bridge',
    'inotify-bridge, 1 MiB',
    'fs.watch',
    'inotifywait',
    'Go fsnotify',
    'Rust notify',
  ],
  figures: [
    { name: 'delivered', unit: '%', digits: 1, least: 100 },
    { name: 'in order', unit: '1 = yes', digits: 0 },
    { name: 'IN_Q_OVERFLOW', unit: 'events', digits: 0 },
    { name: 'to the last', unit: 'ms', digits: 0 },
  ],
  targets: [
    { subject: 'inotify-bridge', figure: 'delivered', atLeast: 100, atMost: 100 },
    { subject: 'inotify-bridge', figure: 'in order', atLeast: 1 },
    { subject: 'inotify-bridge', figure: 'IN_Q_OVERFLOW', atMost: 0 },
    { subject: 'inotify-bridge, 1 MiB', figure: 'in order', atLeast: 1 },
    { subject: 'inotify-bridge, 1 MiB', figure: 'IN_Q_OVERFLOW', atLeast: 1, atMost: 1 },
  ],

  async measure(subject, { scratch, children }) {
    const directory = scratch.newDirectory()
    const [watcher = '', small] = subject.split(', ')
    const outside = children.startOutside(watcher, 'blocked', directory)
    const reader =
      outside ??
      children.startSubject(
        'events/blocked_loop',
        watcher,
        directory,
        scratch.programs.writer,
        ...(small === undefined ? [] : [SMALL_ARENA_BYTES]),
      )
    await reader.next()
    if (outside !== undefined) {
      await Promise.all([children.startWriter('storm', directory, EVENTS).next(), setTimeout(BLOCKED_MS)])
      outside.go()
    }
    const { delivered, inOrder, overflows, toLastMs } = await untilItSawTheLast(directory, reader.next())
    return {
      delivered: (delivered / EVENTS) * 100,
      'in order': inOrder ? 1 : 0,
      'to the last': toLastMs,
      ...(IS_SILENT.has(watcher) ? {} : { IN_Q_OVERFLOW: overflows }),
    }
  },
}

/** @param {import('../../subject.mjs').Subject} subject */
export async function answer({ watcher, directory, args, say }) {
  const [writer = '', maxQueuedBytes] = args
  const options = maxQueuedBytes === undefined ? {} : { maxQueuedBytes: Number(maxQueuedBytes) }
  let inOrder = true
  let before = ''
  let free = 0
  let last = 0
  const counts = await countUntilLast(
    watchBy(watcher, directory, options),
    () => {
      blockLoop(() => execFileSync(writer, ['storm', directory, String(EVENTS)]))
      free = performance.now()
      say({ unblocked: true })
    },
    (name) => {
      last = performance.now()
      inOrder &&= name >= before
      before = name
    },
  )
  say({ ...counts, inOrder, toLastMs: last - free })
}

/**
 * Blocks the loop for as long as `work`, which is synchronous, and for BLOCKED_MS at least.
 *
 * @param {() => void} work
 */
function blockLoop(work) {
  const end = performance.now() + BLOCKED_MS
  work()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.max(0, end - performance.now()))
}
