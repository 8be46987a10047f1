import type { NativeQueue } from '../addon.ts'
import type { EventBatch } from '../inotify/batch.ts'
import type { barrier, Inotify, nativeQueue } from '../inotify/inotify.ts'

/** What is used of an {@link Inotify}. */
export type InotifyInstance = AsyncIterable<EventBatch> &
  Pick<Inotify, 'add' | 'remove' | 'close'> & {
    // By themselves: what is @internal of a class is not in what is published of it.
    [barrier](): number
    readonly [nativeQueue]: NativeQueue
  }

/** With which instance the walker adds watches, and for which events. */
export interface Watching {
  inotify: InotifyInstance
  mask: number
}

/** Who has an instance, if one is needed. */
export interface WatchingSource {
  /** undefined: there is none yet. */
  readonly watching: Watching | undefined
}
