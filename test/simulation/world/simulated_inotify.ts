import type { NativeQueue } from '../../../src/addon.ts'
import { InotifyError } from '../../../src/errors.ts'
import type { EventBatch, InotifyEvent } from '../../../src/inotify/batch.ts'
import { barrier, nativeQueue } from '../../../src/inotify/inotify.ts'
import type { InotifyInstance } from '../../../src/watch/inotify_instance.ts'
import { type FileTree, Refused } from '../kernel/file_tree.ts'
import type { InotifyGroup } from '../kernel/inotify_group.ts'

/** The engine's side of an {@link InotifyGroup}. The schedule decides when the queue is read. */
export class SimulatedInotify implements InotifyInstance {
  readonly group: InotifyGroup
  readonly #tree: FileTree
  // Only the addon's walker uses this.
  readonly [nativeQueue] = {} as NativeQueue
  #asked: ((result: IteratorResult<EventBatch>) => void) | undefined
  #isClosed = false

  constructor(tree: FileTree, group: InotifyGroup) {
    this.#tree = tree
    this.group = group
  }

  add(path: string | Buffer, mask: number): number {
    return this.#orThrow('inotify_add_watch', () => this.group.add(this.#tree.at(path.toString()), mask))
  }

  remove(wd: number): void {
    this.#orThrow('inotify_rm_watch', () => this.group.remove(wd))
  }

  [barrier](): number {
    if (this.#isClosed) throw new InotifyError({ errno: 'EBADF', syscall: 'ioctl' })
    return this.group.barrier()
  }

  close(): void {
    this.#isClosed = true
    this.#asked?.({ done: true, value: undefined })
  }

  /** Returns if events are queued and the engine waits for them. */
  get isReadable(): boolean {
    return this.#asked !== undefined && this.group.length > 0
  }

  /** Hands over all queued events. */
  deliver(): EventBatch {
    const batch = new SimulatedBatch(this.group.read())
    const asked = this.#asked
    this.#asked = undefined
    asked?.({ done: false, value: batch })
    return batch
  }

  [Symbol.asyncIterator](): AsyncIterator<EventBatch> {
    return {
      next: () =>
        new Promise((resolve) => {
          if (this.#isClosed) resolve({ done: true, value: undefined })
          else this.#asked = resolve
        }),
    }
  }

  #orThrow(syscall: string, call: () => number): number {
    if (this.#isClosed) throw new InotifyError({ errno: 'EBADF', syscall })
    let result: number
    try {
      result = call()
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      result = -error.errno
    }
    if (result < 0) throw new InotifyError({ errno: -result, syscall })
    return result
  }
}

class SimulatedBatch implements EventBatch {
  readonly #events: readonly InotifyEvent[]

  constructor(events: readonly InotifyEvent[]) {
    this.#events = events
  }

  get length(): number {
    return this.#events.length
  }

  wd(i: number): number {
    return this.#at(i).wd
  }

  mask(i: number): number {
    return this.#at(i).mask
  }

  cookie(i: number): number {
    return this.#at(i).cookie
  }

  name(i: number): string {
    return this.#at(i).name
  }

  nameBytes(i: number): Buffer {
    return Buffer.from(this.name(i))
  }

  [Symbol.iterator](): Iterator<InotifyEvent> {
    return this.#events[Symbol.iterator]()
  }

  #at(i: number): InotifyEvent {
    const event = this.#events[i]
    if (event === undefined) throw new RangeError(`no event ${i} in a batch of ${this.length}`)
    return event
  }
}
