// What a program hears under `inotify-bridge run` of the kubelet's swaps on the host, and of what this guest changes itself.
import { renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atomicWrite } from '../../../examples/kubelet.mjs'
import { ask, clockOffset, now, parameters, phase, report, share } from './host.mjs'
import { underRun } from './under_run.mjs'

/** `local`: what this guest changes, each with the end of the last line that is said of it. */
/** @type {{ interval: number, program: string[], ready: string, swapped: string, swaps: number, local: Array<[keyof typeof CHANGES, string]> }} */
const { interval, program, ready, swapped, swaps, local } = parameters

/** @param {number} n */
const files = (n) => ({ a: `version ${n}`, b: `version ${n}` })

/** @type {Record<string, (n: number) => unknown>} */
const CHANGES = {
  write: () => writeFileSync(join(share, 'local'), 'x'),
  rename: () => renameSync(join(share, 'local'), join(share, 'moved')),
  unlink: () => unlinkSync(join(share, 'moved')),
  swap: (n) => atomicWrite(share, files(swaps + 1 + n)),
}

await ask('swap', { files: files(0) })
const { lines, heard, end } = underRun(
  interval,
  program.map((word) => (word === 'DIRECTORY' ? share : word)),
)
await heard(ready, 0)

let marks = 0
/** Resolves when `looks` of them are over, and what they have found is told. @param {number} looks */
async function rest(looks) {
  for (let i = 0; i < looks; i++) {
    const mark = `mark-${marks++}`
    await ask('create', { path: mark, text: 'x' })
    await heard(mark, 0)
  }
}

const { offset, error } = await clockOffset()
const begun = lines.length
/** @type {Array<number | undefined>} */
const latencies = []
for (let n = 1; n <= swaps; n++) {
  await sleep((1 + phase(n)) * interval)
  const from = lines.length
  const { began } = await ask('swap', { files: files(n) })
  const at = await heard(swapped, from)
  latencies.push(at && at + offset - began)
  if (at === undefined) break
}
// From now on nobody looks for an interval.
await rest(1)
for (const [n, [change, last]] of local.entries()) {
  const from = lines.length
  await CHANGES[change]?.(n)
  const done = now()
  const at = await heard(last, from)
  latencies.push(at && Math.max(0, at - done))
  if (at === undefined) break
}
// What one look finds is not told in the order in which it was done.
await rest(2)
await end()
const told = lines.slice(begun).flatMap(({ text }) => (text.includes('mark-') ? [] : [text]))
report({ latencies, told, error })
