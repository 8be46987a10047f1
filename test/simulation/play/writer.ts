import { Refused } from '../kernel/file_tree.ts'
import type { Inode } from '../kernel/inode.ts'
import type { World } from '../world/world.ts'
import { callsOf, type Operation, spoken } from './operation.ts'
import type { Settings } from './scenario.ts'

export interface WriterParts {
  world: World
  settings: Pick<Settings, 'isAtomic' | 'lost'>
  operations: readonly Operation[]
  /** The numbers of those that nobody has begun. What the kernel refuses is done with. */
  rest: Iterable<number>
  /** Is called when one has been done. */
  done(i: number): void
}

/** One who changes files: does the next operation that nobody has begun, until there is none. */
export class Writer {
  readonly #parts: WriterParts
  readonly #calls: Generator<Inode | undefined, void>
  #awaits: Inode | undefined
  #doing = ''
  isDone = false

  constructor(parts: WriterParts) {
    this.#parts = parts
    this.#calls = this.#writeAll()
  }

  /** Whether there is something to do, and no other writer holds its directory locked. */
  get canStep(): boolean {
    return !this.isDone && this.#awaits?.isLocked !== true
  }

  /** Goes a step, and says of which operation. */
  step(): string {
    const { done, value } = this.#calls.next()
    this.isDone = done === true
    this.#awaits = value ?? undefined
    return this.#doing
  }

  *#writeAll(): Generator<Inode | undefined, void> {
    const { world, settings, operations, rest, done } = this.#parts
    for (const i of rest) {
      const operation = operations[i] as Operation
      this.#doing = spoken(operation)
      const calls = callsOf(operation, world.files, world.tree)
      const group = world.inotify?.group
      try {
        if (i < settings.lost && group !== undefined) group.loseAll(() => runAll(calls))
        else if (settings.isAtomic) runAll(calls)
        else yield* calls
      } catch (error) {
        if (!(error instanceof Refused)) throw error
      }
      done(i)
      if (i < operations.length - 1) yield
    }
  }
}

/** Does it in one go, where nobody else is in the midst of a call. */
export function runAll(calls: Iterable<Inode | undefined>): void {
  for (const awaited of calls) if (awaited?.isLocked) throw new Error('it waits for another writer')
}
