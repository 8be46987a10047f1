import type { FSWInstanceOptions } from './options.ts'

export type FileEvent = 'add' | 'change' | 'unlink'

// A file that is written to is told when it is closed; one that stays open, so many ms later.
const WRITING_MS = 50
// A file is told to have changed so often at most. What comes in between is told at the end.
const THROTTLE_MS = 50

/** Something of a path that is told when its time has come, or that something else is told then. */
interface Waiting {
  event: FileEvent | undefined
  timer: NodeJS.Timeout
}

/** When each file is told: one event for what comes in quick succession, of which the last is not left out. */
export class Pace {
  readonly #persistent: boolean
  readonly #atomicMs: number
  readonly #finishMs: number
  readonly #emit: (event: FileEvent, path: string) => void
  // Files that are written to, that are gone, and that have changed lately; an event: they have changed since.
  readonly #written = new Map<string, Waiting>()
  readonly #gone = new Map<string, Waiting>()
  readonly #lately = new Map<string, Waiting>()

  constructor(
    { persistent, atomic, awaitWriteFinish }: FSWInstanceOptions,
    emit: (event: FileEvent, path: string) => void,
  ) {
    this.#persistent = persistent
    this.#atomicMs = atomic === true ? 100 : Number(atomic)
    this.#finishMs = awaitWriteFinish === false ? 0 : awaitWriteFinish.stabilityThreshold
    this.#emit = emit
  }

  /** @param isClosed whether nobody writes to it any more, as far as is known */
  tell(event: FileEvent, path: string, isClosed: boolean): void {
    const before = event === 'unlink' ? this.#take(this.#written, path) : this.#written.get(path)
    if (event === 'unlink') {
      this.#take(this.#lately, path)
      // One that was never told of is not told to be gone.
      if (before?.event !== 'add') this.#wait(this.#gone, path, event, this.#atomicMs)
      return
    }
    const isBack = this.#take(this.#gone, path) !== undefined
    const told = before?.event ?? (isBack ? 'change' : event)
    if (before !== undefined && this.#finishMs === 0 && !isClosed) return
    this.#take(this.#written, path)
    this.#wait(this.#written, path, told, this.#finishMs || (isClosed ? 0 : WRITING_MS))
  }

  /** What waits to be told to be gone is told now: something else is there. */
  hurry(path: string): void {
    this.#pass(this.#take(this.#gone, path)?.event, path)
  }

  /** Nothing of these is told any more. */
  forget(isForgotten: (path: string) => boolean): void {
    for (const all of [this.#written, this.#gone, this.#lately])
      for (const path of all.keys()) if (isForgotten(path)) this.#take(all, path)
  }

  #wait(all: Map<string, Waiting>, path: string, event: FileEvent | undefined, ms: number): void {
    if (ms === 0) {
      this.#pass(event, path)
      return
    }
    const timer = setTimeout(() => this.#pass(this.#take(all, path)?.event, path), ms)
    if (!this.#persistent) timer.unref()
    all.set(path, { event, timer })
  }

  #pass(event: FileEvent | undefined, path: string): void {
    const lately = this.#lately.get(path)
    if (event === 'change' && lately !== undefined) lately.event = event
    else if (event !== undefined) {
      this.#emit(event, path)
      if (event === 'change') this.#wait(this.#lately, path, undefined, THROTTLE_MS)
    }
  }

  #take(all: Map<string, Waiting>, path: string): Waiting | undefined {
    const waiting = all.get(path)
    clearTimeout(waiting?.timer)
    all.delete(path)
    return waiting
  }
}
