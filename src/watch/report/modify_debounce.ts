import type { Clock } from '../clock.ts'
import { append, type Change, type EntryChange } from './change.ts'

/** A modify that is told when its path has been quiet until then. */
interface Held {
  change: EntryChange
  until: number
}

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
  readonly #held = new Map<string, Held>()
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

  /** What is held of a path goes where the path goes, and with it what is held of those below. */
  #follow(change: Change): void {
    if (this.#held.size === 0) return
    if (change.type === 'delete') this.#take(change.path)
    else if (change.type === 'rename') {
      if (change.replaced) this.#take(change.path)
      this.#put(this.#take(change.from), change.from, change.path)
    } else if (change.type === 'exchange') {
      const { path, other } = change
      const [there, here] = [this.#take(path), this.#take(other)]
      this.#put(there, path, other)
      this.#put(here, other, path)
    }
  }

  /** A delete, a rename or an exchange of a directory speaks for all below it. */
  #take(path: string): Held[] {
    const taken = [...this.#held.values()].filter(
      ({ change }) => change.path === path || change.path.startsWith(`${path}/`),
    )
    for (const { change } of taken) this.#held.delete(change.path)
    return taken
  }

  #put(held: readonly Held[], from: string, to: string): void {
    for (const each of held) {
      each.change.path = to + each.change.path.slice(from.length)
      this.#held.set(each.change.path, each)
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
