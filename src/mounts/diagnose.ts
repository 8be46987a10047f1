import { stat } from 'node:fs/promises'
import { type InotifyLimits, inotifyLimits } from '../inotify/limits.ts'
import { advise } from './advice.ts'
import { type Backend, type Capability, capability, chooseBackend } from './filesystems.ts'
import { type MountLookup, mountOf } from './mount_of.ts'
import type { Mount } from './mountinfo.ts'
import { type Pinned, pinnedBy } from './pinned.ts'
import { asStatxError } from './statx_error.ts'
import { followSymlinks } from './symlinks.ts'

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

const BY_NEED: readonly Backend[] = ['inotify', 'inotify+poll', 'poll']

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
  const mount = lookup(path)
  const { realPath, linkDirectories } = await followSymlinks(path)
  const hops = linkDirectories.map(lookup).filter((hop, i, all) => i === 0 || !isSame(all[i - 1], hop))
  const mounts = distinct([...hops, mount])
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
    backend: worst(mounts.map((each) => chooseBackend(each).backend)),
    reasons: mounts.map(reason),
    advice: advise(mounts, mount, pinned, limits),
    limits,
  }
}

function distinct(mounts: readonly Mount[]): Mount[] {
  return mounts.filter((mount, i) => mounts.findIndex((each) => isSame(each, mount)) === i)
}

/** By the type too, since several may have the id 0. */
function isSame(a: Mount | undefined, b: Mount): boolean {
  return a?.id === b.id && a.type === b.type
}

function worst(backends: readonly Backend[]): Backend {
  return backends.reduce((a, b) => (BY_NEED.indexOf(a) < BY_NEED.indexOf(b) ? b : a), 'inotify')
}

function reason(mount: Mount): string {
  const { local, remote, why } = capability(mount)
  const verdict = `local changes ${local}, remote changes ${remote}`
  return `${mount.point || 'The mount'} is ${mount.type} (${verdict}): ${why}.`
}
