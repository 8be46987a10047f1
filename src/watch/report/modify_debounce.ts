import type { Clock } from '../clock.ts'
import { append, type Change, type EntryChange } from './change.ts'

/**
 * Holds back a 'modify' until there has been none of its path for a while: a writer that goes on writing is told of once. Everything
 * else passes, and takes with it what is held back of its path: a file that was renamed is still one that was written.
 */
export class ModifyDebounce {
  readonly #time: number
  readonly #persistent: boolean
  readonly #clock: Clock
  readonly #report: (changes: Change[]) => void
  // In the order of their deadlines.
  readonly #held = new Map<string, { change: EntryChange; until: number }>()
  #cancelTimer: (() => void) | undefined

  /** @param time ms */
  constructor(time: number, persistent: boolean, clock: Clock, report: (changes: Change[]) => void) {
    this.#time = time
    this.#persistent = persistent
    this.#clock = clock
    this.#report = report
  }

  take(changes: Change[]): void {
    const passed: Change[] = []
    for (const change of changes) {
      if (change.type === 'modify') this.#hold(change)
      else {
        this.#follow(change)
        passed.push(change)
      }
    }
    if (passed.length > 0) this.#report(passed)
    this.#arm()
  }

  /** What is held back is told now. */
  flush(): void {
    this.#release(Number.POSITIVE_INFINITY)
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#held.clear()
  }

  #hold(change: EntryChange): void {
    const before = this.#held.get(change.path)
    this.#held.delete(change.path)
    if (before !== undefined) change.mask |= before.change.mask
    this.#held.set(change.path, { change, until: this.#clock.elapsed() + this.#time })
  }

  #follow(change: Change): void {
    if (this.#held.size === 0 || (change.type !== 'delete' && change.type !== 'rename')) return
    if (change.type === 'rename' && change.replaced) this.#held.delete(change.path)
    const path = change.type === 'rename' ? change.from : change.path
    // A delete or a rename of a directory speaks for all below it.
    const moving = [...this.#held].filter(([held]) => held === path || held.startsWith(`${path}/`))
    for (const [held] of moving) this.#held.delete(held)
    if (change.type === 'delete') return
    for (const [held, { change: modify, until }] of moving) {
      modify.path = change.path + held.slice(path.length)
      // One half of an exchange: what is held of the other waits no longer, for it has no name just now.
      const displaced = this.#held.get(modify.path)
      if (displaced !== undefined) this.#report([displaced.change])
      this.#held.set(modify.path, { change: modify, until })
    }
  }

  #arm(): void {
    if (this.#cancelTimer !== undefined) return
    const next = this.#held.values().next().value
    if (next === undefined) return
    const wait = Math.max(1, next.until - this.#clock.elapsed())
    this.#cancelTimer = this.#clock.after(wait, this.#persistent, () => {
      this.#cancelTimer = undefined
      this.#release(this.#clock.elapsed())
    })
  }

  #release(now: number): void {
    const changes: Change[] = []
    for (const [path, { change, until }] of this.#held) {
      if (until > now) continue
      this.#held.delete(path)
      append(changes, change)
    }
    if (changes.length > 0) this.#report(changes)
    this.#arm()
  }
}
