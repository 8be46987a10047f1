import { readFile } from 'node:fs/promises'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { NativeQueue } from '../addon.ts'
import { CoalescedTask } from '../coalesced_task.ts'
import { InotifyError } from '../errors.ts'
import { type EventBatch, LoneEvent } from './batch.ts'
import { IN_IGNORED, IN_Q_OVERFLOW } from './constants.ts'
import { watchesIn } from './fdinfo.ts'
import { barrier, Inotify, nativeQueue } from './inotify.ts'
import { BatchIterator } from './iterator.ts'

/** Batches, of up to 64 KiB of events each, that may wait for one share. With more, the share has an overflow of its own. */
const MAX_WAITING = 1024

/** Watches that are removed in one turn of the loop: each leaves an IN_IGNORED in the queue of all. */
const REMOVED_AT_ONCE = 1000

/** ms until unneeded watches are looked for again, if a share was busy. */
const SWEEP_MS = 100

/** The owner of a share. */
export interface ShareOwner {
  /** True while the owner may add watches that {@link has} does not know yet. */
  readonly isBusy: boolean
  /** Returns true if the owner needs a watch, or waits for a mark. */
  has(wd: number): boolean
}

let opened: SharedInstance | undefined

/** Opens a share of the inotify instance of this thread of JavaScript: a user has 128 instances. Throws InotifyError as {@link Inotify} does. */
export function openShare(owner: ShareOwner): InotifyShare {
  opened ??= new SharedInstance()
  return opened.open(owner)
}

/**
 * One owner's share of an inotify instance. The share gives the batches in which an event is about one of the owner's watches or marks, whole: the owner skips the
 * other events. All owners add with IN_MASK_ADD, since the kernel has one watch for an inode.
 */
export class InotifyShare implements AsyncIterable<EventBatch> {
  #instance: SharedInstance | undefined
  readonly #owner: ShareOwner
  readonly #batches: BatchIterator<EventBatch>
  #hasOverflown = false

  constructor(instance: SharedInstance, owner: ShareOwner) {
    this.#instance = instance
    this.#owner = owner
    this.#batches = new BatchIterator(
      () => instance.adjustFlow(),
      () => {},
    )
  }

  /** See {@link Inotify.add}. */
  add(path: string | Buffer, mask: number): number {
    return this.#opened.inotify.add(path, mask)
  }

  /** Removes a watch that the owner does not need, unless others may need the watch. Throws as {@link Inotify.remove} does. */
  remove(wd: number): void {
    this.#instance?.remove(wd, this)
  }

  /** Ends the share. The last one closes the instance. Else it resolves when the watches that nobody needs are removed; those are removed later if a share is busy. */
  async close(): Promise<void> {
    const instance = this.#instance
    this.#instance = undefined
    this.#batches.end()
    await instance?.close(this)
  }

  get [nativeQueue](): NativeQueue {
    return this.#opened.inotify[nativeQueue]
  }

  [barrier](): number {
    return this.#opened.inotify[barrier]()
  }

  /** True: events that are queued by now are older than the share. */
  get isLater(): boolean {
    return this.#opened.isShared
  }

  [Symbol.asyncIterator](): AsyncIterator<EventBatch> {
    return this.#batches
  }

  get isFull(): boolean {
    return this.#batches.full
  }

  get isBusy(): boolean {
    return this.#owner.isBusy
  }

  needs(wd: number): boolean {
    return this.#owner.has(wd)
  }

  push(batch: EventBatch): void {
    if (this.#batches.waiting < MAX_WAITING) this.#hasOverflown = false
    if (this.#hasOverflown) {
      this.#pushMarks(batch)
      return
    }
    this.#batches.push(batch)
    if (this.#batches.waiting < MAX_WAITING) return
    this.#hasOverflown = true
    this.#batches.push(new LoneEvent(-1, IN_Q_OVERFLOW, 0, '', true))
  }

  /** Gives the marks of a batch alone: the owner waits for its marks, whatever else is lost. */
  #pushMarks(batch: EventBatch): void {
    for (let i = 0; i < batch.length; i++) {
      const wd = batch.wd(i)
      if (wd < -1 && this.needs(wd)) this.#batches.push(new LoneEvent(wd, IN_IGNORED, 0, '', true))
    }
  }

  end(failure: { error: unknown }): void {
    this.#batches.end(failure)
  }

  get #opened(): SharedInstance {
    if (this.#instance !== undefined) return this.#instance
    throw new InotifyError({ errno: 'EBADF', syscall: 'inotify', hint: 'this watcher is closed' })
  }
}

class SharedInstance {
  readonly inotify = new Inotify({ persistent: false })
  readonly #shares = new Set<InotifyShare>()
  readonly #give = (batch: EventBatch) => this.#giveAll(batch)
  #isFlowing = false
  #isSweepDue = false
  readonly #sweeps = new CoalescedTask(() => this.#removeUnneeded())

  constructor() {
    this.inotify.on('error', (error) => {
      this.#forget()
      for (const share of this.#shares) share.end({ error })
    })
  }

  get isShared(): boolean {
    return this.#shares.size > 1
  }

  open(owner: ShareOwner): InotifyShare {
    const share = new InotifyShare(this, owner)
    this.#shares.add(share)
    this.adjustFlow()
    return share
  }

  async close(share: InotifyShare): Promise<void> {
    this.#shares.delete(share)
    if (this.#shares.size > 0) {
      this.adjustFlow()
      await this.#sweeps.run()
      return
    }
    this.#forget()
    this.inotify.close()
  }

  #forget(): void {
    if (opened === this) opened = undefined
  }

  remove(wd: number, own: InotifyShare): void {
    const others = [...this.#shares].filter((share) => share !== own)
    if (others.some(({ isBusy }) => isBusy)) this.#sweepLater()
    else if (!others.some((share) => share.needs(wd))) this.inotify.remove(wd)
  }

  /** Holds reading back while no share has room. A share that is not read does not hold up the others. */
  adjustFlow(): void {
    const isFlowing = [...this.#shares].some(({ isFull }) => !isFull)
    if (isFlowing === this.#isFlowing) return
    this.#isFlowing = isFlowing
    if (isFlowing) this.inotify.on('events', this.#give)
    else this.inotify.off('events', this.#give)
  }

  #giveAll(batch: EventBatch): void {
    for (const share of this.#shares)
      if (this.#shares.size === 1 || share.isBusy || concerns(share, batch)) share.push(batch)
    this.adjustFlow()
  }

  #sweepLater(): void {
    if (this.#isSweepDue) return
    this.#isSweepDue = true
    void setTimeout(SWEEP_MS, undefined, { ref: false }).then(() => {
      this.#isSweepDue = false
      return this.#sweeps.run()
    })
  }

  #isIdle(): boolean {
    return ![...this.#shares].some(({ isBusy }) => isBusy)
  }

  /** Removes the kernel's watches that no share needs: those of shares that have ended, and those that were busy when another let go of a watch. */
  async #removeUnneeded(): Promise<void> {
    if (this.#shares.size === 0) return
    const fdinfo = `/proc/self/fdinfo/${this.inotify[nativeQueue].fd()}`
    // Without /proc, or a descriptor to read it with, the watches stay until the next share ends.
    const wds = watchesIn(await readFile(fdinfo, 'latin1').catch(() => ''))
    for (let removed = 0, i = 0; i < wds.length && this.#shares.size > 0; i++) {
      if (!this.#isIdle()) {
        this.#sweepLater()
        return
      }
      const wd = wds[i] as number
      if ([...this.#shares].some((share) => share.needs(wd))) continue
      removeQuietly(this.inotify, wd)
      if (++removed % REMOVED_AT_ONCE === 0) await setImmediate()
    }
  }
}

/** Returns true if an event of a batch is about a watch or a mark of a share, or says that events were lost. */
function concerns(share: InotifyShare, batch: EventBatch): boolean {
  for (let i = 0, last = 0; i < batch.length; i++) {
    const wd = batch.wd(i)
    if (wd === last) continue
    if (wd === -1 || share.needs(wd)) return true
    last = wd
  }
  return false
}

function removeQuietly(inotify: Inotify, wd: number): void {
  try {
    inotify.remove(wd)
  } catch {
    // EINVAL: the kernel has removed the watch, and its IN_IGNORED is on the way.
  }
}
