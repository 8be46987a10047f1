import { basename } from 'node:path'
import { type Change, formatMask, type Kind } from '../../../src/index.ts'
import { AppliedAlone } from '../applied_alone.ts'
import { inWords } from '../support.ts'
import { historyOf } from './history.ts'
import { type Settings, SHAPES } from './settings.ts'
import { asText } from './watching/host.mjs'
import { isIgnored } from './watching/ignore_rules.mjs'
import type { Observe, Observer, Tell } from './watching/observer.ts'
import { namesOf } from './world/plant.ts'
import { contentsOf, divergences, type Snapshot, snapshot, snapshotOfFiles } from './world/snapshot.ts'
import { rootsOf, type World } from './world/world.ts'
import { count } from './world/writers.ts'

// Far longer than a slow watcher takes, and shorter than a test may take: a watcher that hangs must be told
// from a slow one.
const PATIENCE_MS = 20_000
const PATIENCE_OF_LARGE_MS = 100_000
// The most faults, and the most changes of one name, in a report: a failure must be readable at a glance.
const MOST_DIFFERENCES = 5
const MOST_CHANGES = 16

/** The account that the writers give of their work. */
export interface Done {
  /** See {@link Written}. */
  linked: ReadonlySet<bigint>
  wrote: ReadonlyMap<bigint, number>
  /** The count of each rename, as in {@link Writers}; undefined: not counted. */
  renamed: ReadonlyMap<string, number> | undefined
}

/** A watcher of a tree, and a consumer that applies each change alone. */
export class Session implements AsyncDisposable {
  /** A line for each fault. */
  readonly wrong: string[] = []
  /** The number of changes. */
  told = 0
  overflows = 0
  // The changes since the last comparison, with their times. They are applied at the next comparison, or else
  // the consumer would slow sync() down.
  #taken: Array<{ changes: Parameters<Tell>[0]; at: number }> = []
  #changes: Change[] = []
  // How often an event told each rename, by root.
  readonly #pairs = new Map<string, Map<string, number>>()
  readonly #settings: Settings
  readonly #observe: Observe
  readonly #tree: string
  readonly #roots: string[]
  readonly #patience: number
  #believed: AppliedAlone
  // The roots that are files and are missing.
  readonly #lost = new Set<string>()
  readonly #misfits: Array<{ what: string; change: Change }> = []
  #observer: Observer | undefined
  #started: Promise<void> = Promise.resolve()
  #meanwhile: Array<Promise<void>> = []

  constructor(world: World, settings: Settings, observe: Observe) {
    this.#settings = settings
    this.#observe = observe
    this.#tree = world.tree
    this.#roots = rootsOf(settings, world)
    this.#believed = new AppliedAlone(...this.#roots)
    this.#patience = Object.keys(SHAPES[settings.shape]).length > 0 ? PATIENCE_OF_LARGE_MS : PATIENCE_MS
  }

  /**
   * Starts the watcher. With `initial` the consumer starts from nothing while writers may be at work. Without
   * it no writer may be at work yet.
   */
  async start(initial: boolean): Promise<void> {
    const watched = { roots: this.#roots, initial, settings: this.#settings }
    this.#observer = this.#observe(watched, (changes, at) => void this.#taken.push({ changes, at }))
    this.#started = this.#inTime('ready', this.#observer.ready)
    await this.#started
    if (!initial) this.#adopt(this.#reality())
  }

  /** Starts the watcher or calls sync(), while the writers go on. */
  meanwhile(): void {
    if (this.#observer === undefined) this.#meanwhile.push(this.start(true))
    else this.#meanwhile.push(this.#started.then(() => this.sync()))
  }

  async sync(): Promise<void> {
    if (this.#observer !== undefined) await this.#inTime('sync()', this.#observer.sync())
  }

  /** Compares the changes with the tree once all writers are done, and begins anew from there. */
  async settle({ linked, wrote, renamed }: Done): Promise<void> {
    try {
      await Promise.all(this.#meanwhile.splice(0))
      await this.sync()
      this.#apply()
      const real = this.#reality()
      const believed = new Map([...this.#believed.entries].filter(([path]) => !this.#lost.has(path)))
      this.#judge(divergences(believed, real, { linked, at: wrote }))
      if (renamed !== undefined) this.#judgePairs(renamed)
      await this.sync()
      this.#apply()
      for (const late of this.#changes.slice(0, MOST_DIFFERENCES))
        this.wrong.push(`told after sync(): ${this.#describe(late)}`)
      this.#adopt(real)
    } catch (error) {
      this.wrong.push(String(error))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#observer !== undefined) await this.#inTime('close()', this.#observer.close())
  }

  #apply(): void {
    this.#changes = []
    for (const { changes, at } of this.#taken.splice(0)) {
      this.told += changes.length
      for (const change of changes.map(asText)) {
        this.#changes.push(change)
        if (change.type === 'overflow') this.overflows++
        const what = this.#go(change) ?? this.#believed.misfit(change, at)
        if (what !== undefined) this.#misfits.push({ what, change })
      }
    }
  }

  /** A root that is a file may go and come. No other root may. */
  #go({ type, path }: Change): string | undefined {
    if (type !== 'lost' && type !== 'restored') return undefined
    if (this.#settings.roots !== 'files') return `${type} ${path}: the root never went`
    if (this.#lost.has(path) === (type === 'lost')) return `${type} ${path}: as it was already`
    if (type === 'lost') this.#lost.add(path)
    else this.#lost.delete(path)
    return undefined
  }

  #reality(): Snapshot {
    if (this.#settings.roots === 'files') return snapshotOfFiles(this.#roots)
    const { followSymlinks, ignore } = this.#settings
    const ignores = (path: string, kind: Kind) => isIgnored(ignore, this.#roots[0] as string, path, kind)
    const options = { names: namesOf(this.#settings), followSymlinks, ignores }
    return new Map(this.#roots.flatMap((root) => [...snapshot(root, options)]))
  }

  #adopt(real: Snapshot): void {
    // The consumer knows that a lost root is a file.
    const lost = [...this.#lost].map((path) => [path, 'file'] as const)
    this.#believed = new AppliedAlone(...this.#roots).adopt(lost).adopt(contentsOf(real))
  }

  #judge(found: ReturnType<typeof divergences>): void {
    for (const { what } of this.#misfits.slice(0, MOST_DIFFERENCES)) this.wrong.push(this.#short(what))
    for (const { path, what } of found.slice(0, MOST_DIFFERENCES))
      this.wrong.push(this.#short(`${path} ${what}`))
    const [first] = [...this.#misfits.map(({ change }) => change.path), ...found.map(({ path }) => path)]
    if (first === undefined) return
    const about = historyOf(this.#changes, first)
    this.wrong.push(
      this.#short(`-- of ${first} and what is above it ${about.length} changes were told, the last of them:`),
      ...about.slice(-MOST_CHANGES).map((i) => `   ${i} ${this.#describe(this.#changes[i] as Change)}`),
    )
  }

  /**
   * Every told rename must be a real one, and not two halves of different renames. A scan may find a
   * directory in one root before the watcher reads the event that the directory left another root. Both roots
   * then tell the rename, so renames are counted by root.
   */
  #judgePairs(renamed: ReadonlyMap<string, number>): void {
    if (this.#settings.binds || this.#settings.followSymlinks) return
    for (const change of this.#changes) {
      if (!('source' in change) || change.source !== 'inotify') continue
      if (change.type === 'rename') this.#countPair(change.from, change.path)
      if (change.type === 'exchange') {
        this.#countPair(change.other, change.path)
        this.#countPair(change.path, change.other)
      }
    }
    for (const [root, pairs] of this.#pairs)
      for (const [pair, times] of pairs) {
        const real = renamed.get(pair) ?? 0
        if (times > real)
          this.wrong.push(
            this.#short(`falsely paired: ${pair} was told ${times} times in ${root}, and done ${real} times`),
          )
      }
  }

  #countPair(from: string, to: string): void {
    const root = this.#roots.find((each) => to.startsWith(`${each}/`)) ?? ''
    let pairs = this.#pairs.get(root)
    if (pairs === undefined) {
      pairs = new Map()
      this.#pairs.set(root, pairs)
    }
    count(pairs, `${basename(from)}\t${basename(to)}`)
  }

  #describe(change: Change): string {
    const mask = 'mask' in change && change.mask !== 0 ? ` ${formatMask(change.mask)}` : ''
    return `${inWords(change, this.#tree)} (${change.source}${mask})`
  }

  #short(line: string): string {
    const relative = line.replaceAll(`${this.#tree}/`, '')
    return relative.length > 400 ? `${relative.slice(0, 200)} ... ${relative.slice(-200)}` : relative
  }

  async #inTime<T>(what: string, promise: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const tooLate = () => reject(new Error(`${what} took more than ${this.#patience} ms`))
      timer = setTimeout(tooLate, this.#patience)
    })
    try {
      return await Promise.race([promise, late])
    } finally {
      clearTimeout(timer)
    }
  }
}
