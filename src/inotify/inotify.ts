import { EventEmitter } from 'node:events'
import { loadAddon, type NativeQueue } from '../addon.ts'
import { InotifyError, invalidArgument } from '../errors.ts'
import { type EventBatch, LoneEvent, PackedBatch } from './batch.ts'
import { BatchIterator } from './iterator.ts'
import { addHint } from './limits.ts'

/** Options of {@link Inotify}. */
export interface InotifyOptions {
  /**
   * ms. Under load, events are read this far apart instead of at every wakeup; the first after a pause is delivered at once.
   * 0 reads at every wakeup.
   * @default 1
   */
  batchWindow?: number
  /**
   * Bytes. What may wait in memory for a blocked loop or a slow consumer, before the kernel's queue fills and overflows.
   * 0: nothing, and there is no thread that reads in a blocked loop's place.
   * @default 64 MiB
   */
  maxQueuedBytes?: number
  /** Closes this Inotify when it aborts. */
  signal?: AbortSignal
  /** Whether an open Inotify keeps the process alive: see {@link Inotify.ref}. @default true */
  persistent?: boolean
}

interface InotifyEventMap {
  events: [batch: EventBatch]
  error: [error: Error]
  close: []
}

type OwnEvents = (event: string, listener: (event: string) => void) => unknown

// The numbers of marks are less: see native/queue/packing.h.
const NO_MARK = -4096

const CLOSED_HINT = 'this Inotify is closed'

/** Key of a method for this package alone: see {@link NativeQueue.barrier}. */
export const barrier: unique symbol = Symbol('inotify-bridge.barrier')

/** Key of what this package alone gives to the addon's walker, which adds watches to it. */
export const nativeQueue: unique symbol = Symbol('inotify-bridge.nativeQueue')

/**
 * An inotify instance: inotify(7) one to one. Masks, cookies, names and order are the kernel's; nothing is filtered, paired or
 * merged.
 *
 * Delivery begins with the first 'events' listener or iterator; until then, and whenever there is none, or an iterator's
 * consumer is slow, events wait in native memory (`maxQueuedBytes`) and then in the kernel. What does not fit there is lost and
 * told by an IN_Q_OVERFLOW (wd -1), never in silence.
 *
 * 'events' (batch) · 'error' (error): reading failed, and the instance is closed · 'close'
 *
 * @example
 * const inotify = new Inotify()
 * inotify.add('/etc/app', IN_MOVED_TO | IN_CLOSE_WRITE)
 * for await (const batch of inotify) {
 *   for (const { mask, name } of batch) console.log(formatMask(mask), name)
 * }
 */
export class Inotify extends EventEmitter<InotifyEventMap> implements AsyncIterable<EventBatch>, Disposable {
  readonly #queue: NativeQueue
  readonly #iterators = new Set<BatchIterator<EventBatch>>()
  /** Read and not yet handed over: what the last consumer had not come to when it left is the next one's. */
  readonly #unclaimed: EventBatch[] = []
  readonly #signal: AbortSignal | undefined
  readonly #abort = () => this.close()
  // 'newListener' comes before the listener is there.
  readonly #ownListeners: ReadonlyArray<[event: string, listener: (event: string) => void]> = [
    ['newListener', (event) => event === 'events' && this.#onConsumer()],
    ['removeListener', (event) => event === 'events' && this.#adjustFlow()],
  ]
  #open = true
  #flowing = false

  /**
   * inotify_init1(2), with IN_NONBLOCK and IN_CLOEXEC.
   *
   * @throws {InotifyError} EMFILE (fs.inotify.max_user_instances, or the process's own limit of descriptors), ENFILE, ENOMEM,
   *   EAGAIN (no further thread)
   * @throws {TypeError} an option of the wrong type or value
   * @throws {AddonLoadError} there is no addon for this platform
   */
  constructor(options: InotifyOptions = {}) {
    super()
    const { batchWindow = 1, maxQueuedBytes = 64 * 1024 * 1024, signal, persistent = true } = options
    if (!Number.isInteger(batchWindow) || batchWindow < 0 || batchWindow > 1000) {
      throw invalidArgument('options.batchWindow', batchWindow, 'a whole number of ms from 0 to 1000')
    }
    if (!Number.isSafeInteger(maxQueuedBytes) || maxQueuedBytes < 0) {
      throw invalidArgument('options.maxQueuedBytes', maxQueuedBytes, 'a whole number of bytes, or 0')
    }
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw invalidArgument('options.signal', signal, 'an AbortSignal')
    }
    if (typeof persistent !== 'boolean')
      throw invalidArgument('options.persistent', persistent, 'true or false')

    this.#queue = new (loadAddon().Queue)()
    const error = this.#queue.open(
      { batchWindow, arenaBytes: maxQueuedBytes, persistent },
      (wd, mask, cookie, name, isAscii) => this.#take(new LoneEvent(wd, mask, cookie, name, isAscii)),
      (rows, names) => this.#take(new PackedBatch(rows, names)),
      (errno, syscall) => this.#fail(new InotifyError({ errno, syscall, hint: addHint(errno) })),
    )
    if (error < 0) throw new InotifyError({ errno: -error, syscall: 'inotify_init1', hint: addHint(-error) })

    this.#watchListeners()
    this.#signal = signal
    if (signal?.aborted) this.close()
    else signal?.addEventListener('abort', this.#abort, { once: true })
  }

  /**
   * inotify_add_watch(2). `path` is followed if it is a symlink, unless IN_DONT_FOLLOW is set; a Buffer gives the exact bytes.
   * Adding an inode that is watched already, by whatever name, returns the same wd and replaces its mask (see IN_MASK_ADD,
   * IN_MASK_CREATE). While it is replaced, if only by the same, the kernel makes no event of what happens there; with IN_MASK_ADD it does.
   *
   * @returns the wd that events carry
   * @throws {InotifyError} ENOENT, EACCES, ENOTDIR, EINVAL (a mask without events), EEXIST (IN_MASK_CREATE), ENAMETOOLONG,
   *   ENOSPC (fs.inotify.max_user_watches), ENOMEM, EBADF (closed)
   */
  add(path: string | Buffer, mask: number): number {
    if (!(typeof path === 'string' || Buffer.isBuffer(path)) || path.includes('\0')) {
      throw invalidArgument('path', path, 'a string or a Buffer without a NUL byte')
    }
    if (!Number.isInteger(mask) || mask < -0x8000_0000 || mask > 0xffff_ffff) {
      throw invalidArgument('mask', mask, 'IN_* constants joined by |')
    }
    const wd = this.#queue.add(path, mask)
    if (wd < 0) throw this.#error(-wd, 'inotify_add_watch', path)
    return wd
  }

  /**
   * inotify_rm_watch(2). Events queued before are still delivered; an IN_IGNORED with this wd is the last.
   *
   * @throws {InotifyError} EINVAL (no such wd), EBADF (closed)
   */
  remove(wd: number): void {
    if ((wd | 0) !== wd) throw invalidArgument('wd', wd, 'a number that add() returned')
    const error = this.#queue.remove(wd)
    if (error < 0) throw this.#error(-error, 'inotify_rm_watch')
  }

  /** Closes the instance and every watch. Idempotent. No event is delivered after it; 'close' follows in the next tick. */
  close(): void {
    this.#end()
  }

  /** An open Inotify keeps the process alive (again). */
  ref(): this {
    this.#queue.ref()
    return this
  }

  /** The process may end though this Inotify is open. */
  unref(): this {
    this.#queue.unref()
    return this
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /**
   * Batches, until close(). A consumer slower than the events holds delivery back, for 'events' listeners as well. Leaving the
   * loop leaves the Inotify open. Rejects with the error that ended the instance, if one did.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<EventBatch> {
    const iterator: BatchIterator<EventBatch> = new BatchIterator(
      () => this.#adjustFlow(),
      (rest) => {
        this.#iterators.delete(iterator)
        if (this.#open && !this.#hasConsumer()) this.#unclaimed.push(...rest)
        this.#adjustFlow()
      },
    )
    if (this.#open) {
      this.#iterators.add(iterator)
      for (const batch of this.#unclaimed.splice(0)) iterator.push(batch)
    } else iterator.end()
    this.#adjustFlow()
    return iterator
  }

  /** @internal */
  get [nativeQueue](): NativeQueue {
    return this.#queue
  }

  /** @internal */
  [barrier](): number {
    const mark = this.#queue.barrier()
    if (mark > NO_MARK) throw this.#error(-mark, 'ioctl')
    return mark
  }

  override removeAllListeners(event?: keyof InotifyEventMap): this {
    if (event === undefined) super.removeAllListeners()
    else super.removeAllListeners(event)
    this.#watchListeners()
    this.#adjustFlow()
    return this
  }

  #onConsumer(): void {
    this.#adjustFlow(this.listenerCount('events') + 1)
    if (this.#unclaimed.length > 0) process.nextTick(() => this.#handOver())
  }

  #hasConsumer(): boolean {
    return this.#iterators.size > 0 || this.listenerCount('events') > 0
  }

  #take(batch: EventBatch): void {
    // The way of nearly all: nothing waits, and nobody iterates.
    const isNext = this.#unclaimed.length === 0 && this.#iterators.size === 0
    if (isNext && this.listenerCount('events') > 0) {
      this.emit('events', batch)
      return
    }
    this.#unclaimed.push(batch)
    this.#handOver()
  }

  // One batch, and the next in a tick of its own: the consumer may leave, and a listener throw, at each.
  #handOver(): void {
    const batch = this.#open && this.#hasConsumer() ? this.#unclaimed.shift() : undefined
    if (batch === undefined) return
    if (this.#unclaimed.length > 0) process.nextTick(() => this.#handOver())
    this.#deliver(batch)
  }

  #deliver(batch: EventBatch): void {
    for (const iterator of this.#iterators) iterator.push(batch)
    this.#adjustFlow()
    this.emit('events', batch)
  }

  // The kernel's queue overflows within a tenth of a second where nobody reads it, but events that are read and emitted to
  // nobody are lost in silence: so delivery follows the consumers.
  #adjustFlow(listeners = this.listenerCount('events')): void {
    let full = false
    for (const iterator of this.#iterators) full ||= iterator.full
    const flowing = this.#open && !full && (listeners > 0 || this.#iterators.size > 0)
    if (flowing === this.#flowing) return
    this.#flowing = flowing
    if (flowing) this.#queue.resume()
    else this.#queue.pause()
  }

  // Also after removeAllListeners(), which takes these with it.
  #watchListeners(): void {
    // EventEmitter's own events are in no typed map of events.
    const { off, on }: { off: OwnEvents; on: OwnEvents } = EventEmitter.prototype
    for (const [event, listener] of this.#ownListeners) {
      off.call(this, event, listener)
      on.call(this, event, listener)
    }
  }

  #fail(error: Error): void {
    const told = this.#iterators.size > 0
    this.#end({ error })
    if (!told || this.listenerCount('error') > 0) this.emit('error', error)
  }

  #end(failure?: { error: Error }): void {
    if (!this.#open) return
    this.#open = false
    this.#flowing = false
    this.#signal?.removeEventListener('abort', this.#abort)
    this.#queue.close()
    for (const iterator of this.#iterators) iterator.end(failure)
    this.#iterators.clear()
    this.#unclaimed.length = 0
    process.nextTick(() => this.emit('close'))
  }

  #error(errno: number, syscall: string, path?: string | Buffer): InotifyError {
    const hint = this.#open ? addHint(errno) : CLOSED_HINT
    return new InotifyError({ errno, syscall, path, hint })
  }
}
