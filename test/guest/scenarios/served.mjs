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
/** Resolves when two looks are over, and all is told that they have found: the lines that came meanwhile, without those about the marks. @param {number} from */
async function rest(from) {
  for (const mark of [`mark-${marks++}`, `mark-${marks++}`]) {
    await ask('create', { path: mark, text: '' })
    await heard(mark, from)
  }
  return lines.slice(from).flatMap(({ text }) => (text.includes('mark-') ? [] : [text]))
}

const { offset, error } = await clockOffset()
let begun = lines.length
/** @type {Array<number | undefined>} */
const latencies = []
for (let n = 1; n <= swaps; n++) {
  await sleep((1 + phase(n)) * interval)
  const from = lines.length
  const { began } = await ask('swap', { files: files(n) })
  const at = await heard(swapped, from)
  latencies.push(at && at + offset - began)
}
const told = await rest(begun)

begun = lines.length
/** @type {Array<number | undefined>} */
const locally = []
for (const [n, [change, last]] of local.entries()) {
  const [began, from] = [now(), lines.length]
  await CHANGES[change]?.(n)
  const at = await heard(last, from)
  locally.push(at && at - began)
}
const toldLocally = await rest(begun)
await end()
report({ latencies, told, locally, toldLocally, error })
