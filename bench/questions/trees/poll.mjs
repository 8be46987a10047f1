// Asks for the cost of polling without changes: for a large tree the time of a pass, and for a ConfigMap the
// processor's share of four polls a second. The yardstick makes the same system calls, and keeps and compares
// nothing.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { atomicWrite } from '../../../examples/kubelet.mjs'
import { median } from '../../rounds.mjs'

const DIRECTORIES = 2000
const FILES_EACH = 100
const FILES = DIRECTORIES * FILES_EACH
const THREADS = 2
const PASSES = 7

const INTERVAL_MS = 250
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
const QUIET_MS = 20_000
// By then node's own threads have finished their work after the start, and V8 has collected the garbage of
// the start. V8 does that once, 8, 16 or 24 s after the start, and takes 30 ms, which is 0.15 % of the
// measured time.
const SETTLED_MS = 28_000
// The rounds are few, because they take long. A share of a core far from its target needs no more.
const QUIET_ROUNDS = 2

const TREE = 'inotify-bridge'
const RAW_TREE = 'raw C'
const CONFIG = 'ConfigMap, watch()'
const MIRROR = 'ConfigMap, mirror()'
const RAW_CONFIG = 'ConfigMap, raw C'
const BARE = 'bare node'

/**
 * The directories by the scratch directory.
 *
 * @type {Map<string, { tree: string, config: string }>}
 */
const made = new Map()

/** @type {import('../../question.mjs').Question} */
export const poll = {
  name: 'poll',
  asks: `What does a poll of ${FILES} files in ${DIRECTORIES} directories cost that finds nothing new, and one of a ConfigMap?`,
  note:
    `"pass": the median of ${PASSES}, with ${THREADS} threads; of inotify-bridge from the call of sync(), which polls, to its end.\n` +
    '"JavaScript": what of that the event loop was busy for.\n' +
    `"of a core": of ${KEYS.length} keys in the kubelet's layout, polled every ${INTERVAL_MS} ms for ${QUIET_MS / 1000} s; all threads of the process.`,
  rounds: 9,
  isSlow: (subject) => subject !== TREE && subject !== RAW_TREE,
  subjects: [RAW_TREE, TREE, RAW_CONFIG, CONFIG, MIRROR, BARE],
  figures: [
    { name: 'pass', unit: 'ms', digits: 1, ratiosTo: [RAW_TREE] },
    { name: 'cpu', unit: 'ms', digits: 1, ratiosTo: [RAW_TREE] },
    { name: 'JavaScript', unit: 'ms', digits: 1 },
    { name: 'of a core', unit: '%', digits: 4 },
  ],
  targets: [
    { subject: TREE, figure: 'pass', by: RAW_TREE, atMost: 1.2 },
    { subject: CONFIG, figure: 'of a core', atMost: 0.1 },
    { subject: MIRROR, figure: 'of a core', atMost: 0.1 },
  ],

  async measure(subject, { scratch, children, round }) {
    if (round >= QUIET_ROUNDS && subject !== TREE && subject !== RAW_TREE) return {}
    const { tree, config } = made.get(scratch.path) ?? (await make(scratch))
    made.set(scratch.path, { tree, config })
    if (subject === RAW_TREE) {
      const { ms, cpuMs, entries } = await children.startRawPoll(tree, THREADS, PASSES).next()
      if (entries !== FILES + DIRECTORIES) throw new Error(`${entries} entries`)
      return { pass: median(ms), cpu: cpuMs / PASSES }
    }
    if (subject === RAW_CONFIG) {
      const passes = QUIET_MS / INTERVAL_MS
      const { cpuMs } = await children.startRawPoll(config, 1, passes, INTERVAL_MS).next()
      return { 'of a core': (100 * cpuMs) / QUIET_MS }
    }
    return children.startSubject('trees/poll', subject, subject === TREE ? tree : config).next()
  },
}

/** @param {import('../../subject.mjs').Subject} subject */
export async function answer({ watcher: subject, directory, say }) {
  const { mirror, watch } = await import('../../../dist/index.js')
  if (subject === MIRROR) {
    const mirrored = await mirror(directory, `${directory}-mirrored`, { interval: INTERVAL_MS })
    say({ 'of a core': await share() })
    return await mirrored.close()
  }
  const isTree = subject === TREE
  const interval = isTree ? 1_000_000 : INTERVAL_MS
  const watcher =
    subject === BARE ? undefined : watch(directory, { recursive: true, backend: 'poll', interval })
  await watcher?.ready
  if (isTree && watcher !== undefined) say(await passes(watcher))
  else say({ 'of a core': await share() })
  await watcher?.close()
}

/** @param {import('../../../dist/index.js').Watcher} watcher */
async function passes(watcher) {
  // The first passes list everything.
  for (let i = 0; i < 2; i++) await watcher.sync()
  const used = process.cpuUsage()
  const [pass, busy] = [[], []].map((list) => /** @type {number[]} */ (list))
  for (let i = 0; i < PASSES; i++) {
    const [before, start] = [performance.eventLoopUtilization(), performance.now()]
    await watcher.sync()
    pass?.push(performance.now() - start)
    busy?.push(performance.eventLoopUtilization(before).active)
  }
  const { user, system } = process.cpuUsage(used)
  return { pass: median(pass ?? []), cpu: (user + system) / 1000 / PASSES, JavaScript: median(busy ?? []) }
}

/** Returns the per cent of a core that this process takes. */
async function share() {
  await setTimeout(SETTLED_MS)
  const [before, start] = [process.cpuUsage(), performance.now()]
  await setTimeout(QUIET_MS)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 10 / (performance.now() - start)
}

/** @param {import('../../scratch.mjs').Scratch} scratch */
async function make(scratch) {
  const [tree, config] = [scratch.newKeptDirectory(), scratch.newKeptDirectory()]
  for (let i = 0; i < DIRECTORIES; i++) {
    const directory = join(tree, `directory-${i}`)
    mkdirSync(directory)
    for (let file = 0; file < FILES_EACH; file++) writeFileSync(join(directory, `file-${file}.txt`), '')
  }
  await atomicWrite(config, Object.fromEntries(KEYS.map((key) => [`${key}.yaml`, `${key}: 1\n`])))
  return { tree, config }
}
