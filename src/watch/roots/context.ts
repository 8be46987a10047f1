import type { MountWatch } from '../../mounts/mount_watch.ts'
import type { Since } from '../saved/since.ts'
import type { Root } from './root.ts'
import type { PathsContext, RootPaths } from './root_paths.ts'

/** The objects that `roots/` may use. */
export interface RootsContext extends PathsContext {
  readonly paths: RootPaths
  readonly mountWatch: Pick<MountWatch, 'open' | 'settled' | 'partial'>
  /** Roots by their paths: those that are watched or looked for. */
  readonly byPath: ReadonlyMap<string, Root>
  /** undefined: nothing is compared with a saved snapshot. */
  readonly since: Since | undefined
}
