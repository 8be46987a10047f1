import type { InotifyLimits } from '../../inotify/limits.ts'
import type { Backend, Capability } from '../filesystems.ts'
import type { Mount } from '../mountinfo.ts'
import type { SingleFileMount } from './single_file_mount.ts'

/** What a path can and cannot deliver, and why. */
export interface Diagnosis {
  /** As it was given. */
  path: string
  realPath: string
  /**
   * The mount that each symlink followed on the way lies on, in order, the same one twice in a row only once.
   * Whoever can change such a link changes what the path means, so a silent mount among them is a reason to
   * poll. Empty without links.
   */
  hops: Mount[]
  /** The mount of the real path. */
  mount: Mount
  /** Whether changes made through {@link mount} by this kernel are delivered. */
  local: Capability['local']
  /** Whether changes made by others behind {@link mount} are delivered: never, at best there are none. */
  remote: Capability['remote']
  /**
   * 'static': a single-file mount (Kubernetes' subPath), which will not follow when its source is replaced.
   * 'stale': its source has been replaced or deleted.
   */
  pinned: SingleFileMount
  /**
   * What watch() uses for this path by itself: the most that {@link mount} or one of the {@link hops} needs.
   */
  backend: Backend
  /** One sentence each. */
  reasons: string[]
  /** What to do about it, one item each, with the line to change; empty if all is well. */
  advice: string[]
  /** This user's, as far as this process may see. */
  limits: InotifyLimits
}
