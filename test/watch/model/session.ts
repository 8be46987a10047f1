import { basename } from 'node:path'
import { type Change, formatMask } from '../../../src/index.ts'
import { inWords } from '../support.ts'
import type { Observe, Observer } from './observer.ts'
import { divergences, snapshot } from './snapshot.ts'
import { TreeReplay } from './tree_replay.ts'
import { count } from './writers.ts'

// Far longer than it takes, and shorter than a test may: a watcher that hangs is to be told from one that is slow.
const PATIENCE_MS = 20_000
// Of what is wrong, and of the changes that have to do with it.
const ENOUGH = 15

export interface SessionOptions {
  /** fs.inotify.max_queued_events. */
  queue: number
  observe: Observe
}

/** A watcher of a tree, and a replay of what it tells. */
export class Session implements AsyncDisposable {
  readonly changes: Change[] = []
  /** A line for each thing that is wrong. */
  readonly wrong: string[] = []
  readonly #tree: string
  readonly #options: SessionOptions
  readonly #replay: TreeReplay
  #observer: Observer | undefined
  #started: Promise<void> = Promise.resolve()
  #meanwhile: Array<Promise<void>> = []

  constructor(tree: string, options: SessionOptions) {
    this.#tree = tree
    this.#options = options
    this.#replay = new TreeReplay(tree)
  }

  get overflows(): number {
    return this.#replay.overflows
  }

  /** With `initial` the replay starts from nothing, and anything may be going on; without, nobody may be writing yet. */
  async start(initial: boolean): Promise<void> {
    const { queue, observe } = this.#options
    const observer = observe(this.#tree, { initial, queue })
    this.#observer = observer
    observer.on('changes', (changes) => {
      this.changes.push(...changes)
      this.#replay.apply(changes)
    })
    this.#started = inTime('ready', observer.ready)
    await this.#started
    if (!initial) this.#replay.adopt(snapshot(this.#tree))
  }

  /** Starts, or asks for all so far, while the writers go on. */
  meanwhile(): void {
    if (this.#observer === undefined) this.#meanwhile.push(this.start(true))
    else this.#meanwhile.push(this.#started.then(() => this.#sync()))
  }

  /** Nobody writes any more: compares what was told with what is, and begins anew from there. */
  async settle(linked: ReadonlySet<bigint>, renamed: ReadonlyMap<string, number>): Promise<void> {
    try {
      await Promise.all(this.#meanwhile.splice(0))
      await this.#sync()
      const real = snapshot(this.#tree)
      this.#judge(divergences(this.#replay, real, linked))
      this.#judgePairs(renamed)
      const told = this.changes.length
      await this.#sync()
      for (const late of this.changes.slice(told, told + ENOUGH))
        this.wrong.push(`told after sync(): ${this.#describe(late)}`)
      this.#replay.adopt(real)
    } catch (error) {
      this.wrong.push(String(error))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#observer !== undefined) await inTime('close()', this.#observer.close())
  }

  async #sync(): Promise<void> {
    if (this.#observer !== undefined) await inTime('sync()', this.#observer.sync())
  }

  #judge(found: ReturnType<typeof divergences>): void {
    const { faults } = this.#replay
    for (const { path, what } of found.slice(0, ENOUGH)) {
      this.wrong.push(`${JSON.stringify(path)} ${what}`)
    }
    for (const { what, change, afterOverflow } of faults.slice(0, ENOUGH)) {
      this.wrong.push(`${what}: ${this.#describe(change)}${afterOverflow ? ' (after an overflow)' : ''}`)
    }
    const paths = [
      ...found.slice(0, 2).map(({ path }) => path),
      ...faults.slice(0, 2).map(({ change }) => change.path.slice(this.#tree.length + 1)),
    ]
    for (const path of new Set(paths)) {
      const about = this.changes
        .map((change, i) => ({ change, i }))
        .filter(({ change }) => this.#concerns(change, path))
      this.wrong.push(
        `-- told of ${JSON.stringify(path)} and what is above it, ${about.length} changes, the last of them:`,
      )
      for (const { change, i } of about.slice(-2 * ENOUGH))
        this.wrong.push(`   ${i} ${this.#describe(change)}`)
    }
  }

  /** No rename may be told that was none: a half that is paired with another's. */
  #judgePairs(renamed: ReadonlyMap<string, number>): void {
    const told = new Map<string, number>()
    for (const change of this.changes) {
      if (change.type === 'rename' && change.source === 'inotify')
        count(told, `${basename(change.from)}\t${basename(change.path)}`)
      if (change.type === 'exchange' && change.source === 'inotify') {
        count(told, `${basename(change.other)}\t${basename(change.path)}`)
        count(told, `${basename(change.path)}\t${basename(change.other)}`)
      }
    }
    for (const [pair, times] of told) {
      const real = renamed.get(pair) ?? 0
      if (times > real)
        this.wrong.push(`falsely paired: ${pair} was told ${times} times, and done ${real} times`)
    }
  }

  #concerns(change: Change, path: string): boolean {
    const isAbove = (told: string) => `${this.#tree}/${path}/`.startsWith(`${told}/`)
    if (change.type === 'exchange' && isAbove(change.other)) return true
    return isAbove(change.path) || (change.type === 'rename' && isAbove(change.from))
  }

  #describe(change: Change): string {
    const mask = 'mask' in change && change.mask !== 0 ? ` ${formatMask(change.mask)}` : ''
    return `${inWords(change, this.#tree)} (${change.source}${mask})`
  }
}

async function inTime<T>(what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${PATIENCE_MS} ms`)), PATIENCE_MS)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
