// Asks for the cost of watching many files of one directory, each by its own path.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Series } from '../../series.mjs'

const SIZES = [1_000, 4_000]
const RATE = 50
const MS = 2_000

const series = new Series(
  ['inotify-bridge', 'chokidar'].flatMap((watcher) => SIZES.map((size) => ({ watcher, size }))),
)

/** @type {Map<string, string>} By the scratch directory and the number of files. */
const made = new Map()

/** @type {import('../../question.mjs').Question} */
export const fileRoots = {
  name: 'file_roots',
  asks: `How soon are ${SIZES.join(' and ')} files watched that are given one by one, and what does an event of none of them cost?`,
  note: `"unrelated": CPU of the whole process for each of ${RATE} writes a second into other files of the directory.`,
  rounds: 5,
  subjects: series.subjects,
  figures: [
    { name: 'ready', unit: 'ms', digits: 0 },
    { name: 'unrelated', unit: 'us/write', digits: 0 },
  ],
  targets: SIZES.flatMap((size) => {
    const [subject, by] = [`inotify-bridge, ${size}`, `chokidar, ${size}`]
    return { subject, by, figure: 'ready', atMost: 1 }
  }).concat({
    // An unrelated write must cost only the roots of its name.
    subject: `inotify-bridge, ${SIZES[1]}`,
    by: `inotify-bridge, ${SIZES[0]}`,
    figure: 'unrelated',
    atMost: 1.3,
  }),

  async measure(subject, { scratch, children }) {
    const { watcher, size } = series.at(subject)
    const directory = filesOf(scratch, size)
    const writer = children.startWriter('paced', directory, RATE, MS)
    await writer.next()
    const child = children.startSubject('trees/file_roots', watcher, directory, size)
    const { ready } = await child.next()
    writer.go()
    const { events } = await writer.next()
    child.go()
    const { cpuMs } = await child.next()
    return { ready, unrelated: (cpuMs * 1000) / events }
  },
}

/**
 * @param {import('../../scratch.mjs').Scratch} scratch
 * @param {number} size
 */
function filesOf(scratch, size) {
  const key = `${scratch.path} ${size}`
  const directory = made.get(key) ?? scratch.newKeptDirectory()
  if (!made.has(key)) for (const path of pathsIn(directory, size)) writeFileSync(path, '')
  made.set(key, directory)
  return directory
}

/** @param {string} directory @param {number} size */
const pathsIn = (directory, size) => Array.from({ length: size }, (_, i) => join(directory, `root-${i}`))

/** @param {import('../../subject.mjs').Subject} subject */
export async function answer({ watcher, directory, args: [size], say }) {
  const paths = pathsIn(directory, Number(size))
  const start = performance.now()
  if (watcher === 'chokidar') {
    const { watch } = await import('chokidar')
    await once(watch(paths, { ignoreInitial: true }), 'ready')
  } else {
    const { watch } = await import('../../../dist/watch.js')
    await watch(paths).ready
  }
  say({ ready: performance.now() - start })
  // Waits for work that the start has left.
  await setTimeout(500)
  const before = process.cpuUsage()
  await once(process.stdin, 'data')
  const { user, system } = process.cpuUsage(before)
  say({ cpuMs: (user + system) / 1000 })
  process.exit()
}
