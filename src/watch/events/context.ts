import type { DiffContext } from '../diff/context.ts'
import type { Rescan } from '../diff/rescan.ts'
import type { Looker } from '../diff/snapshot/looker.ts'
import type { InotifySource } from './inotify_source.ts'
import type { Translator } from './translator.ts'

/** The objects that `events/` may use. */
export interface EventsContext extends DiffContext {
  readonly inotify: InotifySource
  readonly rescan: Rescan
  readonly looker: Looker
  readonly translator: Translator
}
