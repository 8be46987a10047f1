import type { EventBatch } from '../../inotify/batch.ts'
import { IN_IGNORED, IN_Q_OVERFLOW } from '../../inotify/constants.ts'
import { barrier, nativeQueue } from '../../inotify/inotify.ts'
import type { InotifyInstance, WatchSystem } from '../system.ts'

/** What an {@link InotifySource} tells, in the order of the kernel; the next is told when the promise of the last has settled. */
export interface InotifyListener {
  /** Those from `start` to `end` of a batch. */
  events(batch: EventBatch, start: number, end: number): Promise<void>
  /** Events were lost, and more will not be told. */
  overflow(): Promise<void>
  /** What there is to be seen now is newer than all that was not told; what comes from now on is told again. */
  recover(): Promise<void>
  /** Reading failed: nothing is told any more. */
  failed(error: Error): void
}

/** One inotify instance: its events in order, its overflows, and the marks that are put between them. */
export class InotifySource {
  readonly inotify: InotifyInstance
  /** For the walker, which adds the watches of directories. */
  readonly watching: { inotify: InotifyInstance; mask: number }
  readonly #system: Pick<WatchSystem, 'directoryMask' | 'kernelWatches'>
  readonly #listener: InotifyListener
  // In the order in which they were set.
  readonly #barriers = new Map<number, () => void>()
  // After an overflow, until a barrier is met: what is in the queue is older than any listing that could be made now, and would take
  // back what that has shown.
  #isLost = false
  #overflows = 0
  readonly #pump: Promise<void>

  constructor(
    inotify: InotifyInstance,
    system: Pick<WatchSystem, 'directoryMask' | 'kernelWatches'>,
    listener: InotifyListener,
  ) {
    this.inotify = inotify
    this.#system = system
    this.watching = { inotify, mask: system.directoryMask }
    this.#listener = listener
    // The first mark reserves a watch for those to come: there may be none left by then.
    this.#setBarrier(() => {}).catch(() => {})
    this.#pump = this.#run().catch((error: Error) => listener.failed(error))
  }

  /** How many overflows there have been. */
  get overflows(): number {
    return this.#overflows
  }

  /** Removes a watch that may be gone already. */
  retire(wd: number): void {
    try {
      this.inotify.remove(wd)
    } catch {
      // EINVAL: the kernel has removed it, and its IN_IGNORED is on the way, or was lost.
    }
  }

  /** The watches that the kernel has: an overflow may have swallowed the IN_IGNORED of some. undefined: nobody can tell. */
  kernelWatches(): Promise<Set<number> | undefined> {
    return this.#system.kernelWatches(this.inotify)
  }

  /** Whether a wd is that of a mark, or held back for one: see {@link barrier}. */
  isBarrier(wd: number): boolean {
    return this.#barriers.has(wd) || wd === this.inotify[nativeQueue].reserved()
  }

  /** Resolves when everything that the kernel had queued before has been told. */
  barrier(): Promise<void> {
    return new Promise((resolve, reject) => this.#setBarrier(resolve).catch(reject))
  }

  async close(): Promise<void> {
    this.inotify.close()
    this.#passBarriers()
    await this.#pump
  }

  async #run(): Promise<void> {
    for await (const batch of this.inotify) await this.#deliver(batch)
  }

  async #deliver(batch: EventBatch): Promise<void> {
    let start = 0
    const tellUpTo = async (end: number) => {
      if (end > start && !this.#isLost) await this.#listener.events(batch, start, end)
      start = end
    }
    for (let i = 0; i < batch.length; i++) {
      const mask = batch.mask(i)
      if (mask & IN_Q_OVERFLOW) {
        await tellUpTo(i)
        this.#overflows++
        if (!this.#isLost) await this.#listener.overflow()
        this.#isLost = true
        // This overflow may have swallowed the barrier that the last one set.
        await this.#setBarrier(() => {}).catch(() => this.#recover())
      } else if (mask & IN_IGNORED && this.#barriers.has(batch.wd(i))) {
        await tellUpTo(i)
        if (this.#isLost) await this.#recover()
        this.#passBarriers(batch.wd(i))
        start = i + 1
      }
    }
    await tellUpTo(batch.length)
  }

  async #recover(): Promise<void> {
    this.#isLost = false
    await this.#listener.recover()
  }

  async #setBarrier(pass: () => void): Promise<void> {
    this.#barriers.set(this.inotify[barrier](), pass)
  }

  /** Those that were set before it as well: an overflow has swallowed them. All, without a `last`. */
  #passBarriers(last?: number): void {
    for (const [wd, pass] of this.#barriers) {
      this.#barriers.delete(wd)
      pass()
      if (wd === last) return
    }
  }
}
