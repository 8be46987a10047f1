import { stat } from 'node:fs/promises'
import { type InotifyLimits, inotifyLimits } from '../inotify/limits.ts'
import { advise } from './advice.ts'
import { chooseAmong, crossedMounts } from './crossed.ts'
import { type Backend, type Capability, capability } from './filesystems.ts'
import { type MountLookup, mountOf } from './mount_of.ts'
import type { Mount } from './mountinfo.ts'
import { type Pinned, pinnedBy } from './pinned.ts'
import { asStatxError } from './statx_error.ts'

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
  pinned: Pinned
  /**
   * What watch() uses for this path by itself: the most that {@link mount} or one of the {@link hops} needs.
   */
  backend: Backend
  /** One sentence each. */
  reasons: string[]
  /** What to do about it, one sentence each; empty if all is well. */
  advice: string[]
  /** This user's, as far as this process may see. */
  limits: InotifyLimits
}

/**
 * Says what an existing path can and cannot deliver and why. Reads only; writes no probe.
 *
 * Rejects with an InotifyError (code, errno, syscall 'statx', path, hint) if the path cannot be reached.
 */
export async function diagnose(path: string): Promise<Diagnosis> {
  return examine(path, mountOf)
}

/** {@link diagnose} with a given lookup. */
export async function examine(path: string, lookup: MountLookup): Promise<Diagnosis> {
  const { realPath, hops, mount, all } = await crossedMounts(path, lookup)
  const { local, remote } = capability(mount)
  const status = await stat(realPath, { bigint: true }).catch((error) => {
    throw asStatxError(error, path)
  })
  const pinned = pinnedBy(mount, realPath, { regular: status.isFile(), links: status.nlink })
  const limits = inotifyLimits()
  return {
    path,
    realPath,
    hops,
    mount,
    local,
    remote,
    pinned,
    backend: chooseAmong(all).backend,
    reasons: all.map(reason),
    advice: advise(all, mount, pinned, limits),
    limits,
  }
}

function reason(mount: Mount): string {
  const { local, remote, why } = capability(mount)
  const verdict = `local changes ${local}, remote changes ${remote}`
  return `${mount.point || 'The mount'} is ${mount.type} (${verdict}): ${why}.`
}
