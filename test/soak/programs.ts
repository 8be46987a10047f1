// node test/soak/run.mjs programs [--minutes N]: runs unchanged programs, each under a `run` of its own on a
// FUSE mount, and changes a file behind the mount about once a second. Prints a table at the end; Ctrl-C ends
// the run sooner. Exit code 1: a change was missed or told twice, a program has ended, or a supervisor's
// memory has grown.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { freePort } from '../integration/programs.ts'
import { serveFuse } from '../mirror/fuse_mount.mjs'
import { type Consumer, type Place, prepare } from '../run/consumer.ts'
import { CONSUMERS } from '../run/programs.ts'

const NAMES = ["Prometheus' file_sd", 'dnsmasq --hostsdir', 'tail -F', 'vite', 'tsc']
const RUN = join(import.meta.dirname, '../../build/Release/inotify_bridge_run')
const BETWEEN_MS = 1000
const PATIENCE_MS = 30_000
/** KiB by which a supervisor's memory may grow: some pages that the supervisor has not touched before. */
const SLACK_KIB = 100

const minutes = Number(parseArgs({ options: { minutes: { type: 'string', default: '30' } } }).values.minutes)
if (!(minutes > 0)) {
  console.error('--minutes takes a number above 0')
  process.exit(2)
}

/** Returns KiB. The kernel counts this figure at the call, unlike VmRSS of proc(5)'s status. */
function memoryOf(pid: number): number {
  return Number(/^Rss: +(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])
}

class Played {
  readonly delays: number[] = []
  readonly memory: Array<{ supervisor: number; program: number }> = []
  readonly wrong: string[] = []
  changes = 0
  #output = ''
  readonly #consumer: Consumer
  readonly #place: Place
  readonly #child: ChildProcess

  constructor(consumer: Consumer, place: Place, argv: readonly string[]) {
    this.#consumer = consumer
    this.#place = place
    this.#child = spawn(RUN, ['--', ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, OUT: place.out },
    })
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text) => (this.#output += text))
  }

  get name(): string {
    return this.#consumer.name
  }

  /** Returns false if the program has not noticed the version in time. */
  async reach(version: number): Promise<boolean> {
    const { noticed, expected } = this.#consumer
    const end = performance.now() + PATIENCE_MS
    while (!isDeepStrictEqual(await noticed(this.#place, this.#output), expected(version))) {
      if (performance.now() > end || stopped.signal.aborted || !this.isAlive) return false
      await sleep(20)
    }
    return true
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  async play(): Promise<void> {
    while (!isOver) {
      const began = performance.now()
      await this.#consumer.change(this.#place, ++this.changes)
      if (await this.reach(this.changes)) this.delays.push(performance.now() - began)
      // The end of the run cut the wait for the last change short.
      else if (stopped.signal.aborted) this.changes--
      else
        return void this.wrong.push(
          `change ${this.changes} was not noticed once: ${this.#output.slice(-500)}`,
        )
      await sleep(Math.max(0, began + BETWEEN_MS - performance.now()))
    }
  }

  measure(): void {
    if (!this.isAlive) return
    const { pid = 0 } = this.#child
    const program = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0])
    this.memory.push({ supervisor: memoryOf(pid), program: memoryOf(program) })
  }

  async end(): Promise<void> {
    const ended = once(this.#child, 'exit')
    if (!this.isAlive) this.wrong.push('it has ended')
    else {
      this.kill('SIGTERM')
      await ended
    }
    const [first, last] = [this.memory[0]?.supervisor ?? 0, this.memory.at(-1)?.supervisor ?? 0]
    if (last > first * 1.1 && last > first + SLACK_KIB) this.wrong.push('the memory of its supervisor grows')
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  row(): Record<string, string | number> {
    const sorted = this.delays.toSorted((a, b) => a - b)
    const memory = (who: 'supervisor' | 'program') => this.memory.map((each) => each[who]).join(' ')
    return {
      program: this.name,
      changes: this.changes,
      noticed: this.delays.length,
      'p50 ms': Math.round(sorted[sorted.length >> 1] ?? Number.NaN),
      'max ms': Math.round(sorted.at(-1) ?? Number.NaN),
      'supervisor KiB': memory('supervisor'),
      'program KiB': memory('program'),
    }
  }
}

let isOver = false
const stopped = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopped.abort())

const base = mkdtempSync(join(tmpdir(), 'inotify-bridge-soak-'))
const all: Played[] = []
const mounted: string[] = []
process.on('exit', () => {
  for (const each of all) each.kill('SIGKILL')
  for (const path of mounted) spawnSync('umount', ['-l', path])
  rmSync(base, { recursive: true, force: true })
})
for (const consumer of CONSUMERS.filter(({ name }) => NAMES.includes(name))) {
  if (consumer.lacks !== '') {
    console.log(`${consumer.name} is left out: ${consumer.lacks}`)
    continue
  }
  const own = join(base, `${all.length}`)
  const [back, front, out] = [join(own, 'back'), join(own, 'front'), join(own, 'out')]
  for (const path of [back, front, out]) mkdirSync(path, { recursive: true })
  await serveFuse(back, front, '', '1', consumer.remembered)
  mounted.push(front)
  const place = { back, front, out, port: await freePort() }
  all.push(new Played(consumer, place, await prepare(consumer, place)))
}
for (const each of all)
  if (!(await each.reach(0)) && !stopped.signal.aborted) each.wrong.push('it has not begun')

console.log(`${all.map(({ name }) => name).join(', ')}: ${minutes} minutes`)
const playing = all.map((each) => each.play())
// Measures when each program has its memory, half way, and at the end.
for (const part of [0.1, 0.4, 0.5]) {
  await sleep(part * minutes * 60_000, undefined, { signal: stopped.signal }).catch(() => {})
  for (const each of all) each.measure()
}
isOver = true
await Promise.all(playing)
for (const each of all) await each.end()

console.table(all.map((each) => each.row()))
const wrong = all.flatMap((each) => each.wrong.map((line) => `${each.name}: ${line}`))
console.log(wrong.length === 0 ? 'nothing was missed' : `NOT AS IT SHOULD BE\n${wrong.join('\n')}`)
process.exit(wrong.length === 0 ? 0 : 1)
