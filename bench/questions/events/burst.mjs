// Asks for the cost of a burst of new files to the watcher of the tree. A compiler, a package manager or a
// checkout makes such bursts.
import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { untilItSawTheLast } from '../../children.mjs'
import { watcherOf } from '../../question.mjs'
import { QUIET_MS, untilQuiet } from '../../quiet.mjs'
import { watchTree } from '../../watchers/trees.mjs'

const FILES = 50_000

const AGAIN = 'inotify-bridge, again'

/** @type {import('../../question.mjs').Question} */
export const burst = {
  name: 'burst',
  asks: `What do ${FILES} new files in one directory cost, as fast as one writer can make them?`,
  note: `Watchers of trees, each as its users have it; @parcel/watcher with backend: 'inotify'. "told": of the files made, those told as new.
"again": as many in another directory of the tree, for a process in which all is compiled: by perf(1), 120 to 160 of 380 ms of the first are V8's compiler. "raw C" asks statx(2) what each new name is, and keeps
nothing; "Inotify" keeps the names of one directory in a Set, and does not ask; both have the end of the writing told, as watch() has: what that takes
beside is for a tree that is known, and changes with paths, in JavaScript. CPU is user and system time of the whole process, for each that was told; of inotifywait without that of who reads what it prints.
Go fsnotify watches the directory alone, for it knows no trees. fs.watch, recursive, is not among them: what a file takes it grows with their number (of 2,000
it is 2 ms, on Node 20), and for so many it would take minutes.`,
  rounds: 5,
  subjects: [
    'raw C',
    'Inotify',
    'inotify-bridge',
    AGAIN,
    '@parcel/watcher',
    'chokidar',
    'watchpack',
    'inotifywait',
    'Go fsnotify',
    'Rust notify',
  ],
  figures: [
    { name: 'cpu', unit: 'us/file', digits: 1, ratiosTo: ['@parcel/watcher'] },
    { name: 'told', unit: '%', digits: 1, least: 100 },
    { name: 'writer', unit: 'ms', digits: 0 },
  ],
  targets: [
    { subject: 'inotify-bridge', figure: 'cpu', by: '@parcel/watcher', atMost: 0.5, limit: 'raw C' },
    { subject: 'inotify-bridge', figure: 'told', atLeast: 100 },
  ],

  async measure(subject, { scratch, children }) {
    const directory = scratch.newDirectory()
    const outside =
      subject === 'raw C'
        ? children.startRawReader('burst', directory)
        : children.startOutside(subject, 'tree', directory)
    const watcher =
      outside ??
      children.startSubject('events/burst', watcherOf(subject), directory, Number(subject === AGAIN))
    await watcher.next()
    if (subject === AGAIN) {
      const other = join(directory, 'other')
      mkdirSync(other)
      await children.startWriter('burst', other, FILES).next()
      await watcher.next()
    }
    const { wallMs } = await children.startWriter('burst', directory, FILES).next()
    watcher.go()
    const answer = await (outside === undefined
      ? watcher.next()
      : untilItSawTheLast(directory, outside.next()))
    const { delivered: told, cpuMs } = answer
    return { cpu: (cpuMs * 1000) / told, told: (told / FILES) * 100, writer: wallMs }
  },
}

/** @param {import('../../subject.mjs').Subject} subject */
export async function answer({ watcher, directory, args: [isAgain], say }) {
  /** @type {Set<string>} */
  const told = new Set()
  await watchTree(watcher, directory, (path) => {
    const name = basename(path)
    if (name.startsWith('event-')) told.add(name)
  })
  if (Number(isAgain)) {
    say({ ready: true })
    while (told.size < FILES) await setTimeout(QUIET_MS)
    // Waits for the ends of the writing, which come last.
    await setTimeout(QUIET_MS)
    told.clear()
  }
  const quiet = untilQuiet(() => told.size)
  say({ ready: true })
  const before = process.cpuUsage()
  await quiet
  const { user, system } = process.cpuUsage(before)
  say({ delivered: told.size, cpuMs: (user + system) / 1000 })
  process.exit()
}
