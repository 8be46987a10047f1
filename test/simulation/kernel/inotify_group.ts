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

// Below it are the numbers of barriers.
const NO_BARRIER = -4096

/** One watch: of an inode, and so wherever that is renamed to. */
export interface Mark {
  readonly wd: number
  mask: number
  readonly inode: Inode
}

/** An inotify instance as the kernel has it (fs/notify/notification.c, fs/notify/inotify): marks, and a queue with a bound. */
export class InotifyGroup {
  readonly #queue: InotifyEvent[] = []
  readonly #marks = new Map<number, Mark>()
  readonly #maxEvents: number
  readonly #maxWatches: number
  #nextWd = 1
  // The addon's: places in the stream of events.
  #barriers: InotifyEvent[] = []
  #lastBarrier = NO_BARRIER
  // As if others filled the queue all the time.
  #isFull = false

  /** @param maxWatches how many it may have at once: fs.inotify.max_user_watches */
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

  /** A mark goes, by itself or by {@link remove}. */
  drop(mark: Mark): void {
    this.#push({ wd: mark.wd, mask: IN_IGNORED, cookie: 0, name: '' })
    this.#marks.delete(mark.wd)
    mark.inode.marks.delete(this)
  }

  /** Something happened to what a mark is of, or to a name in it. */
  notify({ wd, mask: asked }: Mark, mask: number, cookie: number, name: string): void {
    if (asked & mask & IN_ALL_EVENTS) this.#push({ wd, mask, cookie, name })
  }

  /** Behind all that is queued, as native/queue/event_queue.h has it. Its number. */
  barrier(): number {
    this.#barriers.push({ wd: --this.#lastBarrier, mask: IN_IGNORED, cookie: 0, name: '' })
    return this.#lastBarrier
  }

  /** What happens meanwhile is lost: others fill the queue as fast as it is read. */
  loseAll(run: () => void): void {
    this.#isFull = true
    run()
    this.#isFull = false
  }

  /** read(2) of all that there is, which meets all barriers. */
  read(): InotifyEvent[] {
    return [...this.#queue.splice(0), ...this.#barriers.splice(0)]
  }

  // fsnotify_insert_event: that it is full is asked before what could be merged, and there is one IN_Q_OVERFLOW at a time.
  #push(event: InotifyEvent): void {
    const last = this.#queue.at(-1)
    if (this.#isFull || this.#queue.length >= this.#maxEvents) {
      const isSaid = this.#queue.some(({ mask }) => mask === IN_Q_OVERFLOW)
      if (!isSaid) this.#queue.push({ wd: -1, mask: IN_Q_OVERFLOW, cookie: 0, name: '' })
    } else if (last === undefined || !isMerged(last, event)) this.#queue.push(event)
  }
}

// event_compare: whatever the cookie is.
function isMerged(last: InotifyEvent, event: InotifyEvent): boolean {
  return (
    !(last.mask & IN_IGNORED) && last.mask === event.mask && last.wd === event.wd && last.name === event.name
  )
}
