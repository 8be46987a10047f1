import type { InotifyInstance } from '../inotify_instance.ts'
import type { Pending } from '../pending/pending.ts'
import type { Shortage } from '../report/shortage.ts'
import type { SavedContext } from '../saved/context.ts'

/** The objects that `diff/` may use. */
export interface DiffContext extends SavedContext {
  readonly pending: Pending
  /** `instance` undefined: there is none yet. */
  readonly inotify: { readonly instance: InotifyInstance | undefined }
  readonly shortage: Shortage
  /** A shortage of watches. */
  readonly watchShortage: Shortage
}
