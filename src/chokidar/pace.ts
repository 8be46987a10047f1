import type { EventName, FSWInstanceOptions } from './options.ts'

// A file that is written to is told when it is closed; one that stays open, so many ms later. It is told to have changed so often at most: what comes in between is told at the end.
const WRITING_MS = 50

type Emit = (event: EventName, path: string) => void

/** The event of a path that waits for its time. `isTold`: the path has just changed, and is told again if there is an event by then. */
interface Waiting {
  event: EventName | undefined
  isTold: boolean
  timer: NodeJS.Timeout
}

/** Decides when each file is told: one event for a quick succession, whose last change is not left out. */
export class Pace {
  readonly #atomicMs: number
  readonly #finishMs: number
  readonly #emit: Emit
  // Files that are written to, that are gone, and that have changed lately.
  readonly #waiting = new Map<string, Waiting>()

  constructor({ atomic, awaitWriteFinish }: FSWInstanceOptions, emit: Emit) {
    this.#atomicMs = atomic === true ? 100 : Number(atomic)
    this.#finishMs = awaitWriteFinish === false ? 0 : awaitWriteFinish.stabilityThreshold
    this.#emit = emit
  }

  /** @param isClosed whether nobody writes to it any more, as far as is known */
  tell(event: EventName, path: string, isClosed: boolean): void {
    const before = this.#waiting.get(path)
    const isBack = before?.event === 'unlink'
    if (event === 'addDir' || event === 'unlinkDir') {
      // A file that becomes a directory is told to be gone first.
      this.#pass(this.#take(path)?.event, path)
      this.#emit(event, path)
    } else if (event === 'unlink') {
      this.#take(path)
      // A file that was never told of is not told to be gone.
      if (before?.event !== 'add') this.#wait(path, event, this.#atomicMs)
    } else if (before && !isBack && this.#finishMs === 0 && (before.isTold || !isClosed)) {
      before.event ??= event
    } else {
      const told = isBack ? 'change' : (before?.event ?? event)
      this.#wait(path, told, this.#finishMs || (isClosed ? 0 : WRITING_MS))
    }
  }

  /** Reports what waited for the writer, who is done. */
  close(path: string): void {
    const { event, isTold } = this.#waiting.get(path) ?? {}
    if (this.#finishMs === 0 && !isTold && event !== 'unlink') this.#pass(this.#take(path)?.event, path)
  }

  /** Nothing of these is told any more. */
  forget(isForgotten: (path: string) => boolean): void {
    for (const path of this.#waiting.keys()) if (isForgotten(path)) this.#take(path)
  }

  #wait(path: string, event: EventName | undefined, ms: number, isTold = false): void {
    this.#take(path)
    if (ms > 0) {
      // The process stays for what watches, while that does.
      const timer = setTimeout(() => this.#pass(this.#take(path)?.event, path), ms).unref()
      this.#waiting.set(path, { event, isTold, timer })
    } else this.#pass(event, path)
  }

  #pass(event: EventName | undefined, path: string): void {
    if (event === 'change') this.#wait(path, undefined, WRITING_MS, true)
    if (event !== undefined) this.#emit(event, path)
  }

  #take(path: string): Waiting | undefined {
    const waiting = this.#waiting.get(path)
    clearTimeout(waiting?.timer)
    this.#waiting.delete(path)
    return waiting
  }
}
