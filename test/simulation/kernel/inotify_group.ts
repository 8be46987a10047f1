import { constants } from 'node:os'
import type { InotifyEvent } from '../../../src/inotify/batch.ts'
import {
  IN_ALL_EVENTS,
  IN_IGNORED,
  IN_MASK_ADD,
  IN_ONLYDIR,
  IN_Q_OVERFLOW,
} from '../../../src/inotify/constants.ts'
import type { Inode } from './inode.ts'

const { EINVAL, ENOSPC, ENOTDIR } = constants.errno

// Barriers have numbers below this one.
const NO_BARRIER = -4096

/** One watch. A watch follows its inode through renames. */
export interface Mark {
  readonly wd: number
  mask: number
  readonly inode: Inode
}

/**
 * An inotify instance like the kernel's (fs/notify/notification.c, fs/notify/inotify): marks, and a queue
 * with a bound.
 */
export class InotifyGroup {
  readonly #queue: InotifyEvent[] = []
  readonly #marks = new Map<number, Mark>()
  readonly #maxEvents: number
  readonly #maxWatches: number
  #nextWd = 1
  // The addon's barriers: places in the stream of events.
  #barriers: InotifyEvent[] = []
  #lastBarrier = NO_BARRIER
  // Behaves as if other events filled the queue all the time.
  #isFull = false

  /** @param maxWatches the most watches at a time: fs.inotify.max_user_watches */
  constructor(maxEvents: number, maxWatches = Number.POSITIVE_INFINITY) {
    this.#maxEvents = maxEvents
    this.#maxWatches = maxWatches
  }

  get length(): number {
    return this.#queue.length + this.#barriers.length
  }

  get wds(): Set<number> {
    return new Set(this.#marks.keys())
  }

  /** inotify_add_watch(2): a wd or -errno. */
  add(inode: Inode, mask: number): number {
    if (mask & IN_ONLYDIR && !inode.isDirectory) return -ENOTDIR
    const known = inode.marks.get(this)
    if (known !== undefined) {
      known.mask = mask & IN_MASK_ADD ? known.mask | mask : mask
      return known.wd
    }
    if (this.#marks.size >= this.#maxWatches) return -ENOSPC
    const mark = { wd: this.#nextWd++, mask, inode }
    inode.marks.set(this, mark)
    this.#marks.set(mark.wd, mark)
    return mark.wd
  }

  /** inotify_rm_watch(2): 0 or -errno. */
  remove(wd: number): number {
    const mark = this.#marks.get(wd)
    if (mark === undefined) return -EINVAL
    this.drop(mark)
    return 0
  }

  /** Drops a mark, for the kernel or for {@link remove}. */
  drop(mark: Mark): void {
    this.#push({ wd: mark.wd, mask: IN_IGNORED, cookie: 0, name: '' })
    this.#marks.delete(mark.wd)
    mark.inode.marks.delete(this)
  }

  /** Queues an event of the mark's inode, or of a name in the inode. */
  notify({ wd, mask: asked }: Mark, mask: number, cookie: number, name: string): void {
    if (asked & mask & IN_ALL_EVENTS) this.#push({ wd, mask, cookie, name })
  }

  /** Queues a barrier behind all events, like native/queue/event_queue.h. Returns the barrier's number. */
  barrier(): number {
    this.#barriers.push({ wd: --this.#lastBarrier, mask: IN_IGNORED, cookie: 0, name: '' })
    return this.#lastBarrier
  }

  /** Loses all events of `run`, as when others fill the queue as fast as the queue is read. */
  loseAll(run: () => void): void {
    this.#isFull = true
    run()
    this.#isFull = false
  }

  /** Reads the whole queue, as one read(2) would. All barriers are met. */
  read(): InotifyEvent[] {
    return [...this.#queue.splice(0), ...this.#barriers.splice(0)]
  }

  // fsnotify_insert_event: the kernel checks for a full queue before it tries to merge. One IN_Q_OVERFLOW is
  // queued at a time.
  #push(event: InotifyEvent): void {
    const last = this.#queue.at(-1)
    if (this.#isFull || this.#queue.length >= this.#maxEvents) {
      const isSaid = this.#queue.some(({ mask }) => mask === IN_Q_OVERFLOW)
      if (!isSaid) this.#queue.push({ wd: -1, mask: IN_Q_OVERFLOW, cookie: 0, name: '' })
    } else if (last === undefined || !isMerged(last, event)) this.#queue.push(event)
  }
}

// event_compare: ignores the cookie.
function isMerged(last: InotifyEvent, event: InotifyEvent): boolean {
  return (
    !(last.mask & IN_IGNORED) && last.mask === event.mask && last.wd === event.wd && last.name === event.name
  )
}
