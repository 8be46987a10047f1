// Counts how much of src/watch one change goes through. V8's precise coverage counts the calls, in out/,
// where each file of src has one of its own.
import { closeSync, mkdirSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { mayLimitQueue, withQueueLimit } from '../../../test/watch/model/watching/queue_limit.mjs'

const OUT = join(import.meta.dirname, '../../../out')
const COUNTED_MS = 100
/** The work that a start leaves is over by then, and no file is so young that a poll stats it again. */
const QUIET_MS = 3000
/** Longer than any question here waits. */
const NEVER_MS = 1_000_000
/** The events that the queue holds before it overflows. They are counted as well, so they are few. */
const SHORT_QUEUE = 4

/**
 * Changes to a directory that has `known`, `other`, `name-0` and `below/`. Each is made twice, and the second is counted: the first compiles and loads.
 * @type {Record<string, (directory: string, nth: number) => void>}
 */
const CHANGES = {
  modify: (directory) => writeFileSync(join(directory, 'known'), 'x', { flag: 'r+' }),
  rename: (directory, nth) => renameSync(join(directory, `name-${nth}`), join(directory, `name-${nth + 1}`)),
  mkdir: (directory, nth) => mkdirSync(join(directory, `made-${nth}`)),
  overflow: (directory) => {
    // IN_CLOSE_WRITE of a file that was not written. The kernel merges two equal events in a row, so the names alternate.
    for (let i = 0; i < 8 * SHORT_QUEUE; i++)
      closeSync(openSync(join(directory, i % 2 === 0 ? 'known' : 'other'), 'r+'))
  },
  poll: (directory, nth) => renameSync(join(directory, `name-${nth}`), join(directory, `name-${nth + 1}`)),
}

/**
 * The change with which each is told.
 *
 * @type {Record<string, string>}
 */
const TOLD = { modify: 'modify', rename: 'rename', mkdir: 'create', overflow: 'recovered', poll: 'rename' }

/** @type {import('../../question.mjs').Question} */
export const calls = {
  name: 'calls',
  asks: `How much of src/watch does one change go through, until ${COUNTED_MS / 1000} s after it has been told?`,
  note: `Counted by V8's precise coverage. "modify" is of a known file, "rename" of a file; "poll" finds one rename, "overflow" that nothing has changed. An overflow needs root.`,
  rounds: 5,
  subjects: Object.keys(CHANGES),
  figures: ['files', 'functions', 'calls'].map((name) => ({ name, unit: '', digits: 0 })),
  targets: [
    { subject: 'modify', figure: 'files', atMost: 10 },
    { subject: 'modify', figure: 'calls', atMost: 100 },
    { subject: 'rename', figure: 'files', atMost: 25 },
    { subject: 'rename', figure: 'calls', atMost: 260 },
    { subject: 'mkdir', figure: 'files', atMost: 25 },
    { subject: 'mkdir', figure: 'calls', atMost: 250 },
  ],

  async measure(subject, { scratch, children }) {
    if (subject === 'overflow' && !mayLimitQueue) return {}
    return await children.startSubject('events/calls', subject, scratch.newDirectory()).next()
  },
}

/** @param {import('../../subject.mjs').Subject} subject */
export async function answer({ watcher: change, directory, say }) {
  mkdirSync(join(directory, 'below'))
  for (const name of ['known', 'other', 'name-0']) writeFileSync(join(directory, name), 'x')
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const { watch } = await import(join(OUT, 'entries/watch.js'))

  const isPolled = change === 'poll'
  const start = () =>
    watch(directory, { recursive: true, backend: isPolled ? 'poll' : 'inotify', interval: NEVER_MS })
  const watcher = change === 'overflow' ? withQueueLimit(SHORT_QUEUE, start) : start()
  await watcher.ready
  for (let nth = 0; nth < 2; nth++) {
    await setTimeout(QUIET_MS)
    const told = new Promise((resolve) => {
      watcher.on('changes', (/** @type {{ type: string }[]} */ changes) => {
        if (changes.some(({ type }) => type === TOLD[change])) resolve(undefined)
      })
    })
    count(session)
    CHANGES[change]?.(directory, nth)
    if (isPolled) await watcher.sync()
    await told
    await setTimeout(COUNTED_MS)
    const figures = count(session)
    if (nth === 1) say(figures)
  }
  process.exit()
}

/** Counts the calls since the last count. @param {Session} session */
function count(session) {
  let [files, functions, calls] = [0, 0, 0]
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error) throw error
    for (const { url, functions: all } of result) {
      if (!url.includes('/out/watch/')) continue
      const called = all.map(({ ranges }) => ranges[0]?.count ?? 0).filter((times) => times > 0)
      if (called.length > 0) files++
      functions += called.length
      calls += called.reduce((sum, times) => sum + times, 0)
    }
  })
  return { files, functions, calls }
}
