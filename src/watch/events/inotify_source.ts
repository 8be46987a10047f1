import type { EventBatch } from '../../inotify/batch.ts'
import { IN_IGNORED, IN_Q_OVERFLOW } from '../../inotify/constants.ts'
import { barrier } from '../../inotify/inotify.ts'
import type { InotifyInstance, Watching } from '../inotify_instance.ts'
import type { WatchSystem } from '../system.ts'

/** What an {@link InotifySource} tells, in the order of the kernel; the next is told when the promise of the last has settled. */
export interface InotifyListener {
  /** Those from `start` to `end` of a batch. */
  events(batch: EventBatch, start: number, end: number): Promise<void>
  /** A mark has been met, which somebody waits for: see {@link InotifySource.barrier}. */
  mark(): Promise<void>
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
  readonly watching: Watching
  readonly #system: Pick<WatchSystem, 'directoryMask' | 'kernelWatches'>
  readonly #listener: InotifyListener
  // In the order in which they were set. Several may have one mark.
  readonly #barriers = new Map<number, Array<() => void>>()
  // After an overflow, until the barrier with this number is met: what is in the queue is older than any listing that could be made now, and
  // would take back what that has shown.
  #recoverAt: number | undefined
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

  /** Resolves when everything that the kernel had queued before has been told. */
  barrier(): Promise<void> {
    return new Promise((resolve) => this.#setBarrier(resolve))
  }

  async close(): Promise<void> {
    this.inotify.close()
    for (const mark of [...this.#barriers.keys()]) this.#pass(mark)
    await this.#pump
  }

  async #run(): Promise<void> {
    for await (const batch of this.inotify) await this.#deliver(batch)
  }

  async #deliver(batch: EventBatch): Promise<void> {
    let start = 0
    const tellUpTo = async (end: number) => {
      if (end > start && this.#recoverAt === undefined) await this.#listener.events(batch, start, end)
      start = end
    }
    for (let i = 0; i < batch.length; i++) {
      const mask = batch.mask(i)
      if (mask & IN_Q_OVERFLOW) {
        await tellUpTo(i)
        this.#overflows++
        if (this.#recoverAt === undefined) await this.#listener.overflow()
        this.#recoverAt = this.#setBarrier(() => {})
      } else if (mask & IN_IGNORED && this.#barriers.has(batch.wd(i))) {
        await tellUpTo(i)
        if (this.#recoverAt === batch.wd(i)) {
          this.#recoverAt = undefined
          await this.#listener.recover()
        }
        await this.#listener.mark()
        this.#pass(batch.wd(i))
        start = i + 1
      }
    }
    await tellUpTo(batch.length)
  }

  /** Throws InotifyError: EBADF, closed. */
  #setBarrier(pass: () => void): number {
    const mark = this.inotify[barrier]()
    const others = this.#barriers.get(mark)
    if (others === undefined) this.#barriers.set(mark, [pass])
    else others.push(pass)
    return mark
  }

  #pass(mark: number): void {
    const passes = this.#barriers.get(mark) ?? []
    this.#barriers.delete(mark)
    for (const pass of passes) pass()
  }
}
