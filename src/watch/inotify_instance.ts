import type { NativeQueue } from '../addon.ts'
import type { EventBatch } from '../inotify/batch.ts'
import type { barrier, Inotify, nativeQueue } from '../inotify/inotify.ts'

/** The part of an {@link Inotify} that is used. */
export type InotifyInstance = AsyncIterable<EventBatch> &
  Pick<Inotify, 'add' | 'remove' | 'close'> & {
    // Listed by themselves: @internal members of a class are not in its published types.
    [barrier](): number
    readonly [nativeQueue]: NativeQueue
  }

/** The instance by which the walker adds watches, and the events that those ask for. */
export interface Watching {
  inotify: InotifyInstance
  mask: number
}

/** The owner of the instance, if one is needed. */
export interface WatchingSource {
  /** undefined: there is none yet. */
  readonly watching: Watching | undefined
}
