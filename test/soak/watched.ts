import type { Change, WatchOptions } from '../../src/index.ts'
import { AppliedAlone } from '../watch/applied_alone.ts'
import { historyOf } from '../watch/model/history.ts'
import type { Observer } from '../watch/model/watching/observer.ts'
import { contentsOf, divergences, type Snapshot, type Written } from '../watch/model/world/snapshot.ts'
import type { Observe } from './observers.ts'

// The most faults, and the most changes of one name, in a report: a report must be readable at a glance.
const MOST_DIFFERENCES = 3
const MOST_CHANGES = 12
const MOST_ERRORS = 12
/** The changes before an audit that are kept for each watcher, because a fault may have begun there. */
const MOST_EARLIER = 20_000

/** The watched roots, and the way of watching. */
export interface Subject {
  readonly name: string
  readonly roots: string[]
  readonly options: WatchOptions
  readonly observe: Observe
  /** Returns the present tree. */
  look(): Snapshot
}

/** A watcher, and a consumer that knows only its changes and applies each alone. */
export class Watched {
  readonly #subject: Subject
  readonly #observer: Observer
  readonly #failures: Map<string, number>
  #taken: Array<{ change: Change; at: number }> = []
  #earlier: Change[] = []
  readonly #errors: string[] = []
  #believed: AppliedAlone
  // The roots that are missing: the loss of a file is told without a delete.
  readonly #lost = new Set<string>()
  told = 0

  /** @param failures counts the errors by code */
  constructor(subject: Subject, failures: Map<string, number>) {
    this.#subject = subject
    this.#failures = failures
    this.#believed = new AppliedAlone(...subject.roots)
    this.#observer = subject.observe(
      subject.roots,
      { ...subject.options, initial: true },
      {
        // Adds one change at a time: a storm has more changes than a call may have arguments.
        told: (changes, at) => {
          for (const change of changes) this.#taken.push({ change, at })
        },
        failed: (code) => {
          this.#failures.set(code, (this.#failures.get(code) ?? 0) + 1)
          this.#errors.push(`${new Date().toISOString()} ${code}`)
          if (this.#errors.length > MOST_ERRORS) this.#errors.shift()
        },
      },
    )
  }

  get name(): string {
    return this.#subject.name
  }

  async ready(): Promise<void> {
    await this.#observer.ready
  }

  async sync(): Promise<void> {
    await this.#observer.sync()
  }

  async close(): Promise<void> {
    await this.#observer.close()
  }

  /**
   * Compares the changes with the tree once nothing changes any more, and begins anew from there. Returns a
   * line for each fault.
   */
  async audit(written: (path: string) => Written): Promise<string[]> {
    await this.sync()
    const changes = this.#taken.map(({ change }) => change)
    const wrong = this.#apply()
    const real = this.#subject.look()
    const believed = new Map([...this.#believed.entries].filter(([path]) => !this.#lost.has(path)))
    for (const [what, names] of groupBy(real, written)) {
      const here = new Map([...believed].filter(([path]) => names.has(path)))
      wrong.push(...divergences(here, names, what))
    }
    const ghosts = new Map([...believed].filter(([path]) => !real.has(path)))
    wrong.push(...divergences(ghosts, new Map(), {}))
    await this.sync()
    const late = this.#taken.map(({ change }) => change)
    wrong.push(...late.map(({ path, type }) => ({ path: String(path), what: `told after sync(): ${type}` })))
    this.#apply()
    this.#adopt(real)
    const first = wrong[0]
    const earlier = this.#earlier
    this.#earlier = [...earlier, ...changes].slice(-MOST_EARLIER)
    if (first === undefined) return []
    const { name } = this.#subject
    return [
      ...wrong.slice(0, MOST_DIFFERENCES).map(({ path, what }) => `${name}: ${path}: ${what}`),
      `${name}: ${wrong.length} in all; what was told of the first before the audit that was as it should be:`,
      ...told(earlier, first.path),
      `${name}: and since:`,
      ...told(changes, first.path),
      `${name}: the last errors, and now ${new Date().toISOString()}: ${this.#errors.join(', ') || 'none'}`,
    ]
  }

  /** Returns the changes that did not fit. */
  #apply(): Array<{ path: string; what: string }> {
    const misfits: Array<{ path: string; what: string }> = []
    for (const { change, at } of this.#taken.splice(0)) {
      this.told++
      if (change.type === 'lost') this.#lost.add(change.path)
      if (change.type === 'restored') this.#lost.delete(change.path)
      const what = this.#believed.misfit(change, at)
      if (what !== undefined) misfits.push({ path: change.path, what })
    }
    return misfits
  }

  #adopt(real: Snapshot): void {
    const lost = [...this.#lost].map((path) => [path, 'file'] as const)
    this.#believed = new AppliedAlone(...this.#subject.roots).adopt(lost).adopt(contentsOf(real))
  }
}

function told(changes: readonly Change[], path: string): string[] {
  const history = historyOf(changes, path).slice(-MOST_CHANGES)
  return history.map((index) => `  ${index} ${JSON.stringify(changes[index])}`)
}

/** Groups the entries by mount, because inode numbers are those of one mount. */
function groupBy(real: Snapshot, of: (path: string) => Written): Map<Written, Snapshot> {
  const groups = new Map<Written, Snapshot>()
  for (const [path, seen] of real) {
    const group = groups.get(of(path)) ?? new Map()
    groups.set(of(path), group.set(path, seen))
  }
  return groups
}
