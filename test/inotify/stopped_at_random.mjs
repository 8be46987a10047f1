// stopped_at_random.mjs DIRECTORY: watches a file that test/native/renames.c renames. At the end (a name that
// begins with "end") prints the figures of the events. 'lost' counts the gaps without an IN_Q_OVERFLOW.
import { readFileSync } from 'node:fs'
import { IN_CREATE, IN_MOVED_FROM, IN_MOVED_TO, IN_Q_OVERFLOW, Inotify } from '../../dist/inotify.js'

const [, , directory = ''] = process.argv
const QUEUE = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'))
const inotify = new Inotify()
inotify.add(directory, IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE)

let delivered = 0
let overflows = 0
let lost = 0
// Twice a name's number, and one more for its IN_MOVED_FROM: 0000000 leaves, 0000001 comes and leaves ...
let expected = 1
// The kernel's queue holds one IN_Q_OVERFLOW: while that one is queued, an event that finds the queue full
// again is dropped without another (fs/notify/notification.c). An overflow thus speaks for all events that
// were queued before it was read, up to a whole queue.
let mayMiss = 0
inotify.on('events', (batch) => {
  for (let i = 0; i < batch.length; i++) {
    if (batch.mask(i) === IN_Q_OVERFLOW) {
      overflows++
      mayMiss = QUEUE
      continue
    }
    const name = batch.name(i)
    if (name.startsWith('end')) return end()
    const place = 2 * Number(name) + (batch.mask(i) === IN_MOVED_FROM ? 1 : 0)
    // A repeated event, or one before its time, is as wrong.
    if (place < expected || (place > expected && mayMiss === 0)) lost++
    if (mayMiss > 0) mayMiss--
    expected = place + 1
    delivered++
  }
})
process.stdout.write('ready\n')

function end() {
  const peakMiB = Number(/^VmHWM:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024
  const said = { delivered, overflows, lost, last: expected - 1, endsInOverflow: mayMiss > 0, peakMiB }
  process.stdout.write(`${JSON.stringify(said)}\n`)
  inotify.close()
}
