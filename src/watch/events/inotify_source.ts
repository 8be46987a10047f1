import type { EventBatch } from '../../inotify/batch.ts'
import { IN_IGNORED, IN_Q_OVERFLOW } from '../../inotify/constants.ts'
import { barrier } from '../../inotify/inotify.ts'
import type { ShareOwner } from '../../inotify/shared_instance.ts'
import type { TaskQueue } from '../../task_queue.ts'
import type { InotifyInstance } from '../inotify_instance.ts'
import { closedError } from '../report/watch_error.ts'
import type { WatchSystem } from '../system.ts'

/** Receives what an {@link InotifySource} reads, in the order of the kernel. Each call is made when the promise of the last has settled. */
export interface InotifyListener {
  /** Receives the events from `start` to `end` of a batch. */
  events(batch: EventBatch, start: number, end: number): Promise<void>
  /** Tells that events were lost. Later ones are dropped until `recover`. */
  overflow(): Promise<void>
  /** Tells that a listing made now is newer than all events that were lost or dropped. Later events are passed on. */
  recover(): Promise<void>
  /** Tells that reading failed: no more calls will come. */
  failed(error: Error): void
}

/** The inotify instance, if one is needed: its events in order, its overflows, and the marks that are put between them. */
export class InotifySource {
  readonly #system: Pick<WatchSystem, 'openInotify' | 'kernelWatches'>
  readonly #listener: InotifyListener
  readonly #queue: Pick<TaskQueue, 'isBusy'>
  readonly #owner: Pick<ShareOwner, 'has'>
  /** undefined: none was needed so far. */
  instance: InotifyInstance | undefined
  #pump: Promise<void> | undefined
  #closed = false
  // undefined: events are not held back.
  #held: Promise<void> | undefined
  #tellHeld = () => {}
  // The watches to be removed when nothing is held back any more, unless they are needed then.
  #retired: Set<number> | undefined
  // The waiting callers by mark, in the order in which they came. Several may have one mark.
  readonly #barriers = new Map<number, Array<() => void>>()
  // The mark set after an overflow. Until it is met events are dropped: they are older than any listing that could
  // be made now, and would take back what that listing has shown.
  #recoverAt: number | undefined
  // The mark set when the share was opened: other shares' events are older.
  #beginAt: number | undefined
  /** The number of overflows. */
  overflows = 0

  /** @param queue the tasks that may add watches */
  constructor(
    system: Pick<WatchSystem, 'openInotify' | 'kernelWatches'>,
    listener: InotifyListener,
    queue: Pick<TaskQueue, 'isBusy'>,
    owner: Pick<ShareOwner, 'has'>,
  ) {
    this.#queue = queue
    this.#owner = owner
    this.#system = system
    this.#listener = listener
  }

  /** Returns the instance, and opens it unless it is open. Throws InotifyError: EMFILE, ENFILE, ENOMEM, EAGAIN; EBADF: closed. */
  open(): InotifyInstance {
    if (this.instance !== undefined) return this.instance
    // close() does not wait for an instance that is opened after it.
    if (this.#closed) throw closedError()
    const instance = this.#system.openInotify({ persistent: false }, this)
    this.instance = instance
    if (instance.isLater) this.#beginAt = this.#setBarrier(instance, () => {})
    this.#pump = this.#run(instance).catch((error: Error) => this.#listener.failed(error))
    return instance
  }

  /**
   * Holds all events back until {@link release}: their directories are not known yet. They are read meanwhile, as far as there is room. Nor is a watch removed: the
   * first look adds watches that nobody owns until the roots are attached.
   */
  hold(): void {
    this.#retired ??= new Set()
    this.#held = new Promise((resolve) => {
      this.#tellHeld = () => {
        this.#held = undefined
        resolve()
      }
    })
  }

  /** Tells what was held back, and removes the watches that nothing needs. */
  release(): void {
    const retired = this.#retired ?? []
    this.#retired = undefined
    this.retire(retired)
    this.#tellHeld()
  }

  /** True: a watch may have been added of which {@link has} does not know yet. */
  get isBusy(): boolean {
    return this.#held !== undefined || this.#queue.isBusy
  }

  /** Returns true for a watch that is needed, and for a mark that a caller waits for. */
  has(wd: number): boolean {
    return this.#barriers.has(wd) || this.#owner.has(wd)
  }

  /** Removes the watches among these that nothing needs. An inode has one watch, whatever it is needed for. */
  retire(wds: Iterable<number>): void {
    for (const wd of wds) {
      if (this.#retired !== undefined) this.#retired.add(wd)
      else if (!this.has(wd)) this.#remove(wd)
    }
  }

  /** Removes a watch that may be gone already. */
  #remove(wd: number): void {
    try {
      this.instance?.remove(wd)
    } catch {
      // EINVAL: the kernel has removed it, and its IN_IGNORED is on the way, or was lost.
    }
  }

  /** Returns the wds that the kernel has: an overflow may have swallowed the IN_IGNORED of some. undefined: not known. */
  async kernelWatches(): Promise<Set<number> | undefined> {
    return this.instance && (await this.#system.kernelWatches(this.instance))
  }

  /** Resolves when everything that the kernel had queued before has been reported. Rejects with InotifyError: EBADF, closed. */
  async barrier(): Promise<void> {
    const instance = this.instance
    if (instance !== undefined) await new Promise<void>((resolve) => this.#setBarrier(instance, resolve))
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#tellHeld()
    const freed = this.instance?.close()
    for (const mark of [...this.#barriers.keys()]) this.#pass(mark)
    await this.#pump
    await freed
  }

  async #run(instance: InotifyInstance): Promise<void> {
    for await (const batch of instance) {
      await this.#held
      await this.#deliver(instance, batch)
    }
  }

  async #deliver(instance: InotifyInstance, batch: EventBatch): Promise<void> {
    let start = 0
    const tellUpTo = async (end: number) => {
      if (end > start && this.#recoverAt === undefined && this.#beginAt === undefined)
        await this.#listener.events(batch, start, end)
      start = end
    }
    for (let i = 0; i < batch.length; i++) {
      const mask = batch.mask(i)
      if (mask & IN_Q_OVERFLOW) {
        await tellUpTo(i)
        this.overflows++
        if (this.#recoverAt === undefined) await this.#listener.overflow()
        this.#recoverAt = this.#setBarrier(instance, () => {})
      } else if (mask & IN_IGNORED && this.#barriers.has(batch.wd(i))) {
        await tellUpTo(i)
        if (this.#beginAt === batch.wd(i)) this.#beginAt = undefined
        if (this.#recoverAt === batch.wd(i)) {
          this.#recoverAt = undefined
          await this.#listener.recover()
        }
        this.#pass(batch.wd(i))
        start = i + 1
      }
    }
    await tellUpTo(batch.length)
  }

  /** Throws InotifyError: EBADF, closed. */
  #setBarrier(instance: InotifyInstance, pass: () => void): number {
    const mark = instance[barrier]()
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
