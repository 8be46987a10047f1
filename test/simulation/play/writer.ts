import { Refused } from '../kernel/file_tree.ts'
import type { Inode } from '../kernel/inode.ts'
import type { World } from '../world/world.ts'
import { callsOf, type Operation, spoken } from './operation.ts'
import type { Settings } from './scenario.ts'

export interface WriterParts {
  world: World
  settings: Pick<Settings, 'isAtomic' | 'lost'>
  operations: readonly Operation[]
  /**
   * The numbers of the operations that no writer has begun. Operations that the kernel refuses are skipped.
   */
  rest: Iterable<number>
  /** Is called after each operation. */
  done(i: number): void
}

/** A writer of files. Does the next operation that no writer has begun, until none is left. */
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

  /** Returns if there is work, and no other writer holds the directory locked. */
  get canStep(): boolean {
    return !this.isDone && this.#awaits?.isLocked !== true
  }

  /** Makes one step, and returns the name of its operation. */
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

/** Makes all calls in one step. Throws if another writer is in the midst of a call in the same directory. */
export function runAll(calls: Iterable<Inode | undefined>): void {
  for (const awaited of calls) if (awaited?.isLocked) throw new Error('it waits for another writer')
}
