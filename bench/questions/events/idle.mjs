// Asks for the cost of a watch without events. Wakeups are counted from outside: the voluntary context
// switches of all threads of the process.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { residentMiB, threads, wakeups } from '../../processes.mjs'
import { watchBy } from '../../watchers/one_directory.mjs'

const QUIET_MS = 3000
const SETTLED_MS = 500

/** @type {import('../../question.mjs').Question} */
export const idle = {
  name: 'idle',
  asks: `What does a watch cost in ${QUIET_MS / 1000} s of quiet?`,
  note: 'RSS over that of a bare node at the same moment. A few events came before: the watch is in use.',
  rounds: 3,
  subjects: ['bare node', 'raw C', 'inotify-bridge', 'fs.watch'],
  figures: [
    { name: 'wakeups', unit: '/s', digits: 2 },
    { name: 'threads', unit: '', digits: 0 },
    { name: 'RSS', unit: 'MiB', digits: 1 },
    { name: 'over bare node', unit: 'MiB', digits: 1 },
  ],
  targets: [
    { subject: 'inotify-bridge', figure: 'wakeups', atMost: 0 },
    { subject: 'inotify-bridge', figure: 'over bare node', atMost: 4 },
  ],

  async measure(subject, { scratch, children }) {
    const directory = scratch.newDirectory()
    const bare = children.startSubject('events/idle', 'bare node', directory)
    const child =
      subject === 'raw C'
        ? children.startRawReader('until-last', directory, 0)
        : children.startSubject('events/idle', subject, directory)
    await Promise.all([bare.next(), child.next()])
    for (let i = 0; i < 10; i++) writeFileSync(join(directory, `event-${i}`), '')
    await settle(child.pid)
    const before = wakeups(child.pid)
    await setTimeout(QUIET_MS)
    const figures = {
      wakeups: (wakeups(child.pid) - before) / (QUIET_MS / 1000),
      threads: threads(child.pid).length,
      RSS: residentMiB(child.pid),
    }
    const isNode = subject !== 'raw C'
    return { ...figures, ...(isNode ? { 'over bare node': figures.RSS - residentMiB(bare.pid) } : {}) }
  },
}

/**
 * Waits until half a second has passed without a wakeup: node's own threads have then finished their work
 * after the start.
 * @param {number} pid
 */
async function settle(pid) {
  for (let tries = 0, before = -1; tries < 20 && before !== wakeups(pid); tries++) {
    before = wakeups(pid)
    await setTimeout(SETTLED_MS)
  }
}

/** @param {import('../../subject.mjs').Subject} subject */
export async function answer({ watcher, directory, say }) {
  await watchBy(watcher, directory)(() => {})
  say({ ready: true })
}
