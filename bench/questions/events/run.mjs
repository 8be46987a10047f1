// Asks for the cost of `inotify-bridge run` to a program that reads inotify(7) itself. The yardstick is the C
// reader without `run`; the writer is never under `run`.
import { join } from 'node:path'
import { untilItSawTheLast } from '../../children.mjs'
import { quantile } from '../../rounds.mjs'

const RUN = join(import.meta.dirname, '../../../build/Release/inotify_bridge_run')
const SAMPLES = 300
const EVENTS = 200_000
const WATCHES = 1000

const BARE = 'bare filter'
/** @type {Record<string, string[]>} */
const BEFORE = {
  plain: [],
  [BARE]: [],
  run: [RUN, '--'],
  'run --all': [RUN, '--all', '--'],
}

/** @type {import('../../question.mjs').Question} */
export const run = {
  name: 'run',
  asks: 'What does `inotify-bridge run` cost a program?',
  note:
    '"run": on a local mount, which the kernel serves itself; "run --all": all is looked at, as on a silent mount.\n' +
    '"bare filter": a seccomp filter of as many steps that asks nobody. add: a new watch of a new directory, the median;\n' +
    'latency: the median of lone events; the other calls: the quickest batch.',
  rounds: 9,
  subjects: Object.keys(BEFORE),
  figures: [
    { name: 'add', unit: 'us', digits: 1, ratiosTo: ['plain'] },
    { name: 'latency', unit: 'us', digits: 1, ratiosTo: ['plain'] },
    { name: 'storm', unit: 'k events/s', digits: 0, ratiosTo: ['plain'] },
    { name: 'lost in silence', unit: 'events', digits: 0 },
    { name: 'getppid', unit: 'ns', digits: 0, ratiosTo: ['plain', BARE] },
    { name: 'write', unit: 'ns', digits: 0, ratiosTo: ['plain', BARE] },
    { name: 'read', unit: 'ns', digits: 0, ratiosTo: ['plain', BARE] },
  ],
  targets: [
    { subject: 'run --all', figure: 'add', atMost: 60 },
    { subject: 'run', figure: 'latency', by: 'plain', atMost: 3 },
    { subject: 'run', figure: 'storm', by: 'plain', atLeast: 0.5 },
    { subject: 'run', figure: 'lost in silence', atMost: 0 },
    { subject: 'run', figure: 'getppid', by: BARE, atMost: 1.05 },
    { subject: 'run', figure: 'write', by: BARE, atMost: 1.05 },
    { subject: 'run', figure: 'read', by: BARE, atMost: 1.05 },
  ],

  async measure(subject, { scratch, children, round }) {
    const before = BEFORE[subject] ?? []
    const { rawReader, calls } = scratch.programs
    const called = children.startUnder(
      before,
      calls,
      scratch.newDirectory(),
      WATCHES,
      subject === BARE ? 'bare' : '',
    )
    /** @type {import('../../rounds.mjs').Figures} */
    const costs = await called.next()
    await called.ended
    if (subject === BARE) return costs

    const lone = scratch.newDirectory()
    const writer = children.startWriter('lone', lone, SAMPLES, round + 1)
    await writer.next()
    const listener = children.startUnder(before, rawReader, 'latency', lone, SAMPLES)
    await listener.next()
    writer.go()
    /** @type {{ sent: number[] }} */
    const { sent } = await writer.next()
    /** @type {{ received: number[] }} */
    const { received } = await untilItSawTheLast(lone, listener.next())
    await listener.ended
    const late = sent.map((at, i) => ((received[i] ?? 0) - at) / 1000).filter((us) => us > 0)

    const stormy = scratch.newDirectory()
    const reader = children.startUnder(before, rawReader, 'until-last', stormy, 0)
    await reader.next()
    const start = performance.now()
    await children.startWriter('storm', stormy, EVENTS).next()
    const { delivered, overflows } = await untilItSawTheLast(stormy, reader.next())
    const took = performance.now() - start
    await reader.ended
    return {
      ...costs,
      latency: quantile(late, 0.5),
      storm: delivered / took,
      'lost in silence': overflows > 0 ? 0 : EVENTS - delivered,
    }
  },
}
