// What does a burst of new files cost whoever watches the tree? As a compiler, a package manager or a checkout makes one.
import { basename } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { untilItSawTheLast } from '../../children.mjs'
import { watchTree } from '../../watchers/trees.mjs'

const FILES = 50_000

/** ms without anything new, when all have been made, after which no more is waited for: a queue that has overflowed may have dropped any. */
const QUIET_MS = 700

/** @type {import('../../question.mjs').Question} */
export const burst = {
  name: 'burst',
  asks: `What do ${FILES} new files in one directory cost, as fast as one writer can make them?`,
  note: `Watchers of trees, each as its users have it; @parcel/watcher with backend: 'inotify'. "told": of the files made, those told as new.
CPU is user and system time of the whole process, for each that was told; of inotifywait without that of who reads what it prints. Go fsnotify
watches the directory alone, for it knows no trees. fs.watch, recursive, is not among them: what a file takes it grows with their number (of 2,000
it is 2 ms, on Node 20), and for so many it would take minutes.`,
  rounds: 5,
  subjects: [
    'inotify-bridge',
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
    { subject: 'inotify-bridge', figure: 'cpu', by: '@parcel/watcher', atMost: 0.5 },
    { subject: 'inotify-bridge', figure: 'told', atLeast: 100 },
  ],

  async measure(subject, { scratch, children }) {
    const directory = scratch.newDirectory()
    const outside = children.startOutside(subject, 'tree', directory)
    const watcher = outside ?? children.startSubject('events/burst', subject, directory)
    await watcher.next()
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
export async function answer({ watcher, directory, say }) {
  /** @type {Set<string>} */
  const told = new Set()
  let isOver = false
  process.stdin.once('data', () => {
    isOver = true
  })
  await watchTree(watcher, directory, (path) => {
    const name = basename(path)
    if (name.startsWith('event-')) told.add(name)
  })
  say({ ready: true })
  const before = process.cpuUsage()
  for (let known = -1, wasOver = false; !wasOver || told.size > known; await setTimeout(QUIET_MS)) {
    known = told.size
    wasOver = isOver
  }
  const { user, system } = process.cpuUsage(before)
  say({ delivered: told.size, cpuMs: (user + system) / 1000 })
  process.exit()
}
