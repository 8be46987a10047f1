// Records the lines of programs under `inotify-bridge run`: for the kubelet's swaps on the host, and for the
// guest's own changes. Each program watches a directory of its own. Starting this process takes as long as
// playing one program, so it plays all.
import { renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atomicWrite } from '../../../examples/kubelet.mjs'
import { ask, clockOffset, now, parameters, phase, report, share } from './host.mjs'
import { underRun } from './under_run.mjs'

/**
 * `local`: the changes of this guest, each with the lines that the program prints.
 * @typedef {{ program: string[], ready: string, swapped: string, rests: number, local: Array<[string, ...string[]]> }} Reader
 */

/** `together`: plays all programs at the same time, because they wait for looks that are far apart. */
/** @type {{ interval: number, swaps: number, together: boolean, readers: Reader[] }} */
const { interval, swaps, together, readers } = parameters
const { offset, error } = await clockOffset()

/** @param {number} n */
const files = (n) => ({ a: `version ${n}`, b: `version ${n}` })

/** @type {Record<string, (directory: string, n: number) => unknown>} */
const CHANGES = {
  write: (directory) => writeFileSync(join(directory, 'local'), 'x'),
  rename: (directory) => renameSync(join(directory, 'local'), join(directory, 'moved')),
  unlink: (directory) => unlinkSync(join(directory, 'moved')),
  swap: (directory, n) => atomicWrite(directory, files(swaps + 1 + n)),
}

/**
 * Starts a program, and returns a function that plays the changes to the program.
 * @param {Reader} reader
 * @param {number} index
 */
async function start({ program, ready, swapped, rests, local }, index) {
  const path = String(index)
  const directory = join(share, path)
  await ask('directory', { path })
  await ask('swap', { path, files: files(0) })
  const { lines, heard, end } = underRun(
    interval,
    program.map((word) => (word === 'DIRECTORY' ? directory : word)),
  )
  await heard(ready, 0)

  let marks = 0
  /**
   * Resolves when `looks` looks are over, and their findings are told.
   *
   * @param {number} looks
   */
  async function rest(looks) {
    for (let i = 0; i < looks; i++) {
      const mark = `mark-${marks++}`
      await ask('create', { path: join(path, mark), text: 'x' })
      await heard(mark, 0)
    }
  }

  return async () => {
    const begun = lines.length
    /** @type {Array<number | undefined>} */
    const latencies = []
    for (let n = 1; n <= swaps; n++) {
      await sleep(rests + (1 + phase(n)) * interval)
      const from = lines.length
      const { began } = await ask('swap', { path, files: files(n) })
      const at = await heard(swapped, from)
      latencies.push(at && at + offset - began)
      if (at === undefined) break
    }
    // No look comes for an interval from here on.
    await rest(1)
    for (const [n, [change, ...said]] of local.entries()) {
      const from = lines.length
      await CHANGES[change]?.(directory, n)
      const done = now()
      // chokidar prints the lines of one change in any order: the next change must not come between them.
      /** @type {Array<number | undefined>} */
      const times = []
      for (const line of said) times.push(await heard(line, from))
      const at = times.includes(undefined) ? undefined : Math.max(...times.map(Number))
      latencies.push(at && Math.max(0, at - done))
      if (at === undefined) break
    }
    // One look tells its findings in another order than that of the changes.
    await rest(2)
    await end()
    const told = lines.slice(begun).flatMap(({ text }) => (text.includes('mark-') ? [] : [text]))
    return { latencies, told, error }
  }
}

const played = []
/** @type {Array<() => Promise<unknown>>} */
const plays = []
for (const [n, reader] of readers.entries()) {
  const play = await start(reader, n)
  if (together) plays.push(play)
  else played.push(await play())
}
report([...played, ...(await Promise.all(plays.map((play) => play())))])
