import type { NativeQueue } from '../addon.ts'
import type { EventBatch } from '../inotify/batch.ts'
import type { barrier, Inotify, nativeQueue } from '../inotify/inotify.ts'
import type { InotifyShare } from '../inotify/shared_instance.ts'

/** The part of an {@link Inotify}, or of a share of one, that is used. */
export type InotifyInstance = AsyncIterable<EventBatch> &
  Pick<Inotify, 'add' | 'remove'> &
  Partial<Pick<InotifyShare, 'isLater'>> & {
    // Listed by themselves: @internal members of a class are not in its published types.
    [barrier](): number
    /** Closes the instance. A share resolves when its watches are free. */
    close(): unknown
    readonly [nativeQueue]: NativeQueue
  }
