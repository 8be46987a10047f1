// Asks how long the command with the least work takes, and how much memory an idle sidecar holds.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { residentMiB } from '../../processes.mjs'

const COMMAND = join(import.meta.dirname, '../../../dist/cli.js')

/** @type {import('../../question.mjs').Question} */
export const command = {
  name: 'command',
  asks: 'How soon does the command answer, and what does a quiet mirror hold?',
  note: '"inotify-bridge": --version, and `mirror` of one file once it is ready; "bare node": -e 0, and one that waits for stdin.',
  rounds: 9,
  subjects: ['inotify-bridge', 'bare node'],
  figures: [
    { name: 'answer', unit: 'ms', digits: 1, ratiosTo: ['bare node'] },
    { name: 'RSS', unit: 'MiB', digits: 1 },
    { name: 'over bare node', unit: 'MiB', digits: 1 },
  ],
  targets: [
    { subject: 'inotify-bridge', figure: 'answer', by: 'bare node', atMost: 1.4 },
    { subject: 'inotify-bridge', figure: 'over bare node', atMost: 10 },
  ],

  async measure(subject, { scratch, children }) {
    const isOurs = subject === 'inotify-bridge'
    const start = performance.now()
    spawnSync(process.execPath, isOurs ? [COMMAND, '--version'] : ['-e', '0'])
    const answer = performance.now() - start
    const bare = children.startNode('subject.mjs', 'events/idle', 'bare node', scratch.newDirectory())
    await bare.next()
    if (!isOurs) return { answer, RSS: residentMiB(bare.pid) }
    const [source, target] = [scratch.newDirectory(), scratch.newDirectory()]
    writeFileSync(join(source, 'key'), 'value\n')
    const mirror = children.startNode('../dist/cli.js', 'mirror', '--json', source, target)
    await mirror.next()
    const RSS = residentMiB(mirror.pid)
    return { answer, RSS, 'over bare node': RSS - residentMiB(bare.pid) }
  },
}
