import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import type { Change } from '../../src/index.ts'
import { Watcher } from '../../src/watch/watcher.ts'
import { compile } from '../support/compile.ts'
import { roomy, rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'

// RENAMES=1000000 plays more, to find rare faults.
const RENAMES = rounds(process.env.RENAMES, { quick: 12_000, long: 30_000 })
const WRITERS = 4
const FILES = 50
const NOISES = 2
// The most changes by which a writer may be ahead of the watcher. A rename is two events, and a round of
// noise 38 at most: together fewer than the kernel's queue holds (16,384), so that none can be lost however
// late the watcher is.
const AHEAD = 1200
const NOISE_AHEAD = 60

/** A writer with a limit that the test raises. */
class Storm {
  told = 0
  readonly #process: ChildProcess
  readonly #ahead: number
  readonly #end: number
  #allowed = 0

  constructor(args: string[], ahead: number, end: number) {
    this.#process = spawn(compile('rename_storm'), args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#ahead = ahead
    this.#end = end
    const ended = once(this.#process, 'exit')
    onTestFinished(async () => {
      this.#process.stdin?.end()
      await ended
    })
  }

  async ready(): Promise<void> {
    const lines = createInterface(this.#process.stdout as NodeJS.ReadableStream)
    await once(lines, 'line')
  }

  /** Raises the limit by half of the lead at a time, so that the writer need not wait at every change. */
  allow(): void {
    if (this.#allowed - this.told > this.#ahead / 2 || this.#allowed === this.#end) return
    this.#allowed = Math.min(this.told + this.#ahead, this.#end)
    this.#process.stdin?.write(`${this.#allowed}\n`)
  }
}

/** Returns the directory, as rename_storm.c does. */
const directoryOf = (file: number, version: number) =>
  (file + version * version + Math.floor(version / 3)) % 4
const pathOf = (id: number, file: number, version: number) =>
  `d${directoryOf(file, version)}/${id}-${file}-${version}`

test(`${RENAMES} renames over four directories, with noise: each is paired, and with its own half`, {
  timeout: 120_000 + RENAMES / 10,
}, async () => {
  const [tree, outside] = [scratch(roomy), scratch(roomy)]
  for (let i = 0; i < 4; i++) mkdirSync(join(tree, `d${i}`))
  const each = RENAMES / WRITERS
  const writers = Array.from(
    { length: WRITERS },
    (_, id) => new Storm(['files', tree, String(id), String(FILES)], AHEAD, each),
  )
  const noises = Array.from(
    { length: NOISES },
    (_, id) => new Storm(['noise', tree, outside, String(id)], NOISE_AHEAD, Number.POSITIVE_INFINITY),
  )
  await Promise.all([...writers, ...noises].map((storm) => storm.ready()))

  const watcher = new Watcher(tree, { recursive: true, backend: 'inotify' })
  onTestFinished(() => watcher.close())
  const wrong: Change[] = []
  const versions = writers.map(() => Array<number>(FILES).fill(0))
  const counts = { renames: 0, ofNoise: 0, pendingMoves: 0, arrivals: 0 }
  const done = new Promise<void>((resolve) => {
    const hear = (change: Change) => {
      const name = basename(change.path)
      const [what, id, number] = name.split('-')
      if (change.type !== 'rename') {
        // Only files that another writer touched have a change that is no rename. An overflow is told of the
        // root.
        if (what === 'mark' && change.type === 'create') (noises[Number(id)] as Storm).told = Number(number)
        else if (what === 'noise' && change.type === 'delete') counts.pendingMoves++
        else if (what === 'in' && change.type === 'create') counts.arrivals++
        else if (what !== 'noise' && what !== 'in' && what !== 'mark') wrong.push(change)
        return
      }
      if (what === 'noise') {
        // A rename can only begin at in-ID-N: an entry that left for the outside is gone.
        if (!basename(change.from).startsWith(`in-${id}-`)) wrong.push(change)
        counts.ofNoise++
        return
      }
      const writer = Number(what)
      const file = Number(id)
      const version = versions[writer]?.[file] as number
      const expected = [version, version + 1].map((each) => join(tree, pathOf(writer, file, each)))
      if (change.from !== expected[0] || change.path !== expected[1] || change.replaced) wrong.push(change)
      ;(versions[writer] as number[])[file] = Number(number)
      ;(writers[writer] as Storm).told++
      counts.renames++
    }
    watcher.on('changes', (changes) => {
      for (const change of changes) hear(change)
      const isOver = counts.renames >= RENAMES || wrong.length > 10
      for (const storm of isOver ? [] : [...writers, ...noises]) storm.allow()
      if (isOver) resolve()
    })
  })
  await watcher.ready
  const start = performance.now()
  for (const storm of [...writers, ...noises]) storm.allow()
  await done
  await watcher.sync()
  const seconds = (performance.now() - start) / 1000
  process.stdout.write(`${JSON.stringify(counts)}, ${Math.round(counts.renames / seconds)} renames/s\n`)

  expect(wrong).toEqual([])
  expect(counts.renames).toBe(RENAMES)
  // There was noise, and of each sort.
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(RENAMES / 10_000)
})
