// npm run soak: see --help.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import setUpPrograms from '../support/programs.ts'
import { growth, type Resources, resources } from './resources.ts'
import { Soak, WATCHERS } from './soak.ts'

const HELP = `Usage: npm run soak -- [--minutes N] [--seed N] [--every SECONDS] [--only NAMES]

Random operations on a tree that watchers follow, and on sources that mirrors do, while mounts, roots, limits, workers and
this process itself come and go; all is compared now and then. A line a minute, a summary at the end; Ctrl-C ends it sooner.
Exit code 1: something differed, or grows.

  --minutes N      30
  --seed N         of what is done; what happens at the same time is another each time
  --every SECONDS  from one comparison to the next: 10. 0: after each round, so that nothing is mended by what comes later
  --only NAMES     of the watchers, without mirrors and workers: a hundred times as many rounds. ${WATCHERS.join(', ')}`

const MINUTE_MS = 60_000
/** Every step takes a few seconds: a step that has not ended by then is stuck. */
const PATIENCE_MS = 60_000

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string' },
    every: { type: 'string', default: '10' },
    only: { type: 'string' },
    help: { type: 'boolean' },
  },
})
if (values.help) {
  console.log(HELP)
  process.exit()
}
const minutes = Number(values.minutes)
const seed = Number(values.seed ?? Date.now() % 1_000_000)
const betweenAudits = Number(values.every) * 1000
const only = values.only?.split(',')
const isKnown = only?.every((name) => WATCHERS.some((each) => each === name)) ?? true
if (!(minutes > 0) || !Number.isInteger(seed) || !(betweenAudits >= 0) || !isKnown) {
  console.error(
    `--minutes takes a number above 0, --seed a whole one, --every one from 0 on, --only some of ${WATCHERS.join(',')}\n\n${HELP}`,
  )
  process.exit(2)
}

// run.mjs has made namespaces for this process. Where it may not, there are no mounts and no limits of
// watches.
const isApart = process.env.SOAK_APART === 'yes'
const removePrograms = setUpPrograms()
const base = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'inotify-bridge-soak-'))
const began = Date.now()
const wrong: string[] = []
const seen: Resources[] = []
let audits = 0
let isInterrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    isInterrupted = true
  })
// Also catches the library's exceptions and rejections that no caller awaits.
process.on('uncaughtException', fail)

console.log(
  `soak: ${minutes} minutes, --seed ${seed}, ${isApart ? 'with' : 'without'} mounts and limits of watches`,
)
const soak = await Soak.begin(base, seed, isApart, only)
let [auditedAt, saidAt] = [began, began]
try {
  while (!isInterrupted && wrong.length === 0 && Date.now() - began < minutes * MINUTE_MS) {
    await inTime('a round', soak.play())
    if (Date.now() - auditedAt >= betweenAudits) await audit()
    if (Date.now() - saidAt >= MINUTE_MS) say()
  }
  if (wrong.length === 0) await audit()
  say()
  await inTime('the end', soak.end())
} catch (error) {
  fail(error)
}
try {
  rmSync(base, { recursive: true, force: true })
} catch (error) {
  // Mounts below the directory end with this process's namespace.
  console.log(`soak: ${base} is left: ${String(error)}`)
}
removePrograms?.()
wrong.push(...growth(seen))
const did = [...soak.done].map(([name, times]) => `${name} ${times}`).join(', ')
console.log(
  `soak: ${isInterrupted ? 'interrupted after' : 'over after'} ${passed()}: ${audits} audits, ${did}`,
)
console.log(`soak: ${wrong.length === 0 ? 'nothing differed' : `NOT AS IT SHOULD BE (--seed ${seed})`}`)
for (const line of wrong) console.log(`  ${line}`)
// A failed part may have left something open. The process does not wait for that.
process.exit(wrong.length === 0 ? 0 : 1)

function fail(error: unknown): void {
  wrong.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
}

async function audit(): Promise<void> {
  wrong.push(...(await inTime('an audit', soak.audit())))
  seen.push(resources())
  audits++
  auditedAt = Date.now()
}

function say(): void {
  saidAt = Date.now()
  const now = seen.at(-1) ?? resources()
  const failures = [...soak.failures].map(([code, times]) => `${code} ${times}`).join(' ') || 'none'
  console.log(
    `${passed()}: ${soak.operations} operations, ${soak.told} changes told, ${soak.updates} updates mirrored, ${audits} audits, ${wrong.length} differences; ` +
      `${now.descriptors} descriptors, ${now.threads} threads, heap ${now.heap} MiB, memory ${now.memory} MiB; errors told: ${failures}`,
  )
}

function passed(): string {
  const seconds = Math.round((Date.now() - began) / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

async function inTime<T>(what: string, promise: Promise<T>): Promise<T> {
  const timer = setTimeout(() => {
    console.log(
      `soak: ${what} has not ended after ${PATIENCE_MS / 1000} s, ${soak.doing} (--seed ${seed}); files stay in ${base}`,
    )
    process.exit(1)
  }, PATIENCE_MS)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}
