import { EventEmitter } from 'node:events'
import { type InspectOptions, inspect } from 'node:util'
import { loadAddon, type NativeQueue } from '../addon.ts'
import { InotifyError, invalidArgument, refuseUnknown } from '../errors.ts'
import { type EventBatch, LoneEvent, PackedBatch } from './batch.ts'
import { BatchIterator } from './iterator.ts'
import { addHint } from './limits.ts'

/** Options of {@link Inotify}. */
export interface InotifyOptions {
  /**
   * ms, 0 to 1000. Under load, reads are this far apart; the first event after a pause is delivered at once. 0: read at every wakeup.
   * @default 1
   */
  batchWindow?: number
  /**
   * Bytes that may wait in native memory while the event loop is blocked or a consumer is slow, before the kernel's queue fills and overflows. Held in chunks of 64 KiB.
   * 0: none, and no thread that reads while the loop is blocked.
   * @default 64 MiB
   */
  maxQueuedBytes?: number
  /** Closes the instance when it aborts. A signal that has aborted before gives a closed instance. */
  signal?: AbortSignal
  /** Keeps the process alive while the instance is open: see {@link Inotify.ref}. @default true */
  persistent?: boolean
}

interface InotifyEventMap {
  events: [batch: EventBatch]
  error: [error: Error]
  close: []
}

type OwnEvents = (event: string, listener: (event: string) => void) => unknown

// The numbers of marks are less, those of errors greater: see native/queue/packing.h.
const NO_MARK = -4096

const CLOSED_HINT = 'this Inotify is closed'

/** Key of a method for this package alone: see {@link NativeQueue.barrier}. */
export const barrier: unique symbol = Symbol('inotify-bridge.barrier')

/** Key of the queue, for this package alone: the addon's walker adds watches to it. */
export const nativeQueue: unique symbol = Symbol('inotify-bridge.nativeQueue')

/**
 * An inotify instance: inotify(7) one to one, with a thread of its own that reads while the event loop is blocked. Masks, cookies, names and order are the kernel's; nothing
 * is filtered, paired or merged.
 *
 * Events:
 * - `'events'` (batch: {@link EventBatch}): events have come.
 * - `'error'` (error): reading failed, and the instance is closed. Not emitted if an iterator is told and nobody listens.
 * - `'close'`: in the tick after `close()`, an abort or an error.
 *
 * Delivery begins with the first `'events'` listener or iterator. Until then, and while there is none, or an iterator's
 * consumer is slow, events wait in native memory (`maxQueuedBytes`) and then in the kernel's queue. Events that do not fit are dropped by the kernel and
 * reported by an IN_Q_OVERFLOW (wd -1), never lost in silence.
 *
 * @example
 * ```js
 * import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
 * import { formatMask, IN_CLOSE_WRITE, IN_MOVED_TO, Inotify } from 'inotify-bridge'
 *
 * const directory = await mkdtemp('/tmp/example-')
 * const inotify = new Inotify()
 * const wd = inotify.add(directory, IN_CLOSE_WRITE | IN_MOVED_TO)
 *
 * await writeFile(`${directory}/app.tmp`, 'color: red\n')
 * await rename(`${directory}/app.tmp`, `${directory}/app.yaml`)
 *
 * for await (const batch of inotify) {
 *   for (const event of batch) {
 *     console.log(event.wd === wd, formatMask(event.mask), event.name)
 *     if (event.name === 'app.yaml') inotify.close()
 *   }
 * }
 * await rm(directory, { recursive: true })
 * ```
 */
export class Inotify extends EventEmitter<InotifyEventMap> implements AsyncIterable<EventBatch>, Disposable {
  readonly #queue: NativeQueue
  readonly #iterators = new Set<BatchIterator<EventBatch>>()
  /** Batches read and not yet handed over: what the last consumer had not come to when it left is the next one's. */
  readonly #unclaimed: EventBatch[] = []
  readonly #signal: AbortSignal | undefined
  readonly #abort = () => this.close()
  // Node emits 'newListener' before the listener is there.
  readonly #ownListeners: ReadonlyArray<[event: string, listener: (event: string) => void]> = [
    ['newListener', (event) => event === 'events' && this.#onConsumer()],
    ['removeListener', (event) => event === 'events' && this.#adjustFlow()],
  ]
  #open = true
  #flowing = false

  /**
   * Calls inotify_init1(2), with IN_NONBLOCK and IN_CLOEXEC.
   *
   * @throws InotifyError: EMFILE (fs.inotify.max_user_instances, or the process's own limit of descriptors; the hint says which), ENFILE, ENOMEM,
   *   EAGAIN (no further thread)
   * @throws TypeError: an option of the wrong type or value
   * @throws AddonLoadError: there is no addon for this platform
   */
  constructor(options: InotifyOptions = {}) {
    super()
    refuseUnknown('options', options, ['batchWindow', 'maxQueuedBytes', 'signal', 'persistent'])
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
   * Calls inotify_add_watch(2). A `path` that is a symlink is followed unless the mask has IN_DONT_FOLLOW; a Buffer gives the exact bytes.
   *
   * Adding an inode that is watched already, by whatever name, returns the same wd and replaces its mask (see IN_MASK_ADD,
   * IN_MASK_CREATE). While the kernel replaces a mask, even by the same one, it makes no event of what happens there; with IN_MASK_ADD it does.
   *
   * @returns the wd that events carry
   * @throws InotifyError: ENOENT, EACCES, ENOTDIR, EINVAL (a mask without events), EEXIST (IN_MASK_CREATE), ENAMETOOLONG,
   *   ENOSPC (fs.inotify.max_user_watches), ENOMEM, EBADF (closed)
   * @throws TypeError: a NUL byte in the path, or a mask that is no 32-bit number
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
   * Calls inotify_rm_watch(2). Events queued before are still delivered; an IN_IGNORED with this wd is the last.
   *
   * @throws InotifyError: EINVAL (no such wd), EBADF (closed)
   */
  remove(wd: number): void {
    if ((wd | 0) !== wd) throw invalidArgument('wd', wd, 'a number that add() returned')
    const error = this.#queue.remove(wd)
    if (error < 0) throw this.#error(-error, 'inotify_rm_watch')
  }

  /** Closes the instance and every watch. Idempotent. No `'events'` follow; an iterator still hands out the batches that it had received. */
  close(): void {
    this.#end()
  }

  /** Lets the open instance keep the process alive (again). */
  ref(): this {
    this.#queue.ref()
    return this
  }

  /** Lets the process end though the instance is open. */
  unref(): this {
    this.#queue.unref()
    return this
  }

  /** Calls {@link close}. */
  [Symbol.dispose](): void {
    this.close()
  }

  /**
   * Gives batches until {@link close}. Each iterator gets every batch. A slow consumer holds delivery back, for `'events'` listeners as well. Leaving the
   * loop leaves the instance open. Rejects with the error that ended the instance, if one did.
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
  [inspect.custom](_depth: number, options: InspectOptions): string {
    return `Inotify ${inspect({ open: this.#open, delivering: this.#flowing, iterators: this.#iterators.size }, options)}`
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

  /** @hidden */
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
    // The usual case: nothing waits, and nobody iterates.
    const isNext = this.#unclaimed.length === 0 && this.#iterators.size === 0
    if (isNext && this.listenerCount('events') > 0) {
      this.emit('events', batch)
      return
    }
    this.#unclaimed.push(batch)
    this.#handOver()
  }

  // Hands over one batch, and the next in a tick of its own: the consumer may leave, and a listener throw, at each.
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

  // Delivery follows the consumers: unread, the kernel's queue overflows within a tenth of a second, but events that
  // are read and emitted to nobody are lost in silence.
  #adjustFlow(listeners = this.listenerCount('events')): void {
    let full = false
    for (const iterator of this.#iterators) full ||= iterator.full
    const flowing = this.#open && !full && (listeners > 0 || this.#iterators.size > 0)
    if (flowing === this.#flowing) return
    this.#flowing = flowing
    if (flowing) this.#queue.resume()
    else this.#queue.pause()
  }

  // Called again by removeAllListeners(), which takes these listeners with it.
  #watchListeners(): void {
    // The typed map of events lacks EventEmitter's own events.
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
