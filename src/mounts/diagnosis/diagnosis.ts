import type { InotifyLimits } from '../../inotify/limits.ts'
import type { Backend, Capability } from '../filesystems.ts'
import type { Mount } from '../mountinfo.ts'
import type { SingleFileMount } from './single_file_mount.ts'

/** The answer of `diagnose()`. `reasons` and `advice` are texts for people: they may change. */
export interface Diagnosis {
  /** The path as it was given. */
  path: string
  /** The path with all symlinks followed. */
  realPath: string
  /**
   * The mounts of the symlinks on the way, in order, the same one twice in a row only once; empty without links. Whoever can change such a link changes what the path
   * leads to, so a silent mount among them is a reason to poll.
   */
  hops: Mount[]
  /** The mount of the real path. */
  mount: Mount
  /** Changes made through {@link mount} by this kernel: delivered, lost, or not known. */
  local: Capability['local']
  /** Changes made elsewhere, by a host, a server, another client: 'none' can happen, 'silent' (they happen and are not delivered), or not known. */
  remote: Capability['remote']
  /**
   * 'static': a single-file mount (Kubernetes' subPath), which will not follow when its source is replaced.
   * 'stale': its source has been replaced or deleted.
   */
  pinned: SingleFileMount
  /** The source that `watch()` uses with 'auto': the most that {@link mount} or one of the {@link hops} needs. */
  backend: Backend
  /** One sentence for each mount, for silent mounts below a directory, for a pinned file, and for where this runs (Kata, gVisor, WSL, Docker Desktop). */
  reasons: string[]
  /** Things to change, one item each, with the line; empty if all is well. */
  advice: string[]
  /** The limits of inotify(7), and this user's use of them as far as this process may see. */
  limits: InotifyLimits
}
