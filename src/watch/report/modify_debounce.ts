import type { Clock } from '../clock.ts'
import { append, type Change, type EntryChange } from './change.ts'
import { type IndexedPath, PathIndex } from './path_index.ts'

/** A modify that is told when its path has been quiet until then. */
interface Held {
  change: EntryChange
  until: number
  at: IndexedPath<Held>
}

/**
 * Holds back a 'modify' until there has been none of its path for a while: a writer that goes on writing is told of once. Everything
 * else passes, and takes with it what is held back of its path: a file that was renamed is still one that was written. What it costs to find that
 * does not grow with what is held of other paths.
 */
export class ModifyDebounce {
  readonly #time: number
  readonly #clock: Clock
  readonly #report: (changes: Change[]) => void
  // In the order of their deadlines.
  readonly #held = new Set<Held>()
  readonly #byPath = new PathIndex<Held>()
  #cancelTimer: (() => void) | undefined

  /** @param time ms */
  constructor(time: number, clock: Clock, report: (changes: Change[]) => void) {
    this.#time = time
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
    const at = this.#byPath.make(change.path)
    const before = at.value
    if (before !== undefined) {
      this.#held.delete(before)
      change.mask |= before.change.mask
    }
    at.value = { change, until: this.#clock.elapsed() + this.#time, at }
    this.#held.add(at.value)
  }

  /** What is held of a path goes where the path goes, and with it what is held of those below: a change of a directory speaks for all of them. */
  #follow(change: Change): void {
    if (this.#held.size === 0) return
    if (change.type === 'delete') this.#drop(change.path)
    else if (change.type === 'create' || change.type === 'attrib') this.#correct(change.path, change)
    else if (change.type === 'rename') {
      const taken = this.#byPath.take(change.from)
      this.#drop(change.path)
      this.#put(taken, change.path)
      this.#correct(change.path, change)
    } else if (change.type === 'exchange') {
      const { path, other, otherKind, otherStat } = change
      const [there, here] = [this.#byPath.take(path), this.#byPath.take(other)]
      this.#put(there, other)
      this.#put(here, path)
      this.#correct(path, change)
      this.#correct(other, { kind: otherKind, ...(otherStat && { stat: otherStat }) })
    }
  }

  #drop(path: string): void {
    for (const held of this.#byPath.take(path)?.values() ?? []) this.#held.delete(held)
  }

  #put(taken: IndexedPath<Held> | undefined, path: string): void {
    if (taken !== undefined) this.#byPath.put(taken, path)
  }

  /** What was written may have been looked at since: of a link that came over a file, its event does not say that it is one. */
  #correct(path: string, { kind, stat }: Pick<EntryChange, 'kind' | 'stat'>): void {
    const held = this.#byPath.at(path)?.value
    if (held === undefined) return
    held.change.kind = kind
    if (stat !== undefined) held.change.stat = stat
  }

  #arm(): void {
    if (this.#cancelTimer !== undefined) return
    const [next] = this.#held
    if (next === undefined) return
    const wait = Math.max(1, next.until - this.#clock.elapsed())
    this.#cancelTimer = this.#clock.after(wait, () => {
      this.#cancelTimer = undefined
      this.#release(this.#clock.elapsed())
    })
  }

  #release(now: number): void {
    const changes: Change[] = []
    for (const held of this.#held) {
      const { change, until, at } = held
      if (until > now) break
      change.path = at.path
      this.#held.delete(held)
      this.#byPath.clear(at)
      append(changes, change)
    }
    if (changes.length > 0) this.#report(changes)
    this.#arm()
  }
}
