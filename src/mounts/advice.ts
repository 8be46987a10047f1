import type { InotifyLimits } from '../inotify/limits.ts'
import { capability } from './filesystems.ts'
import type { Mount } from './mountinfo.ts'
import { isKubernetesSubPath, type Pinned } from './pinned.ts'

/** A user who has used more than this share of a limit is told before it is reached. */
const NEARLY_ALL = 0.9

/** What to do about what a diagnosis has found, one sentence each. `mount` is the last of `mounts`. */
export function advise(
  mounts: readonly Mount[],
  mount: Mount,
  pinned: Pinned,
  limits: InotifyLimits,
): string[] {
  return [...adviseOnPin(mount, pinned), ...new Set(mounts.flatMap(adviseOnMount)), ...adviseOnLimits(limits)]
}

function adviseOnPin(mount: Mount, pinned: Pinned): string[] {
  if (pinned === 'no') return []
  const cure = isKubernetesSubPath(mount)
    ? 'mount the whole ConfigMap or Secret as a directory instead of using subPath'
    : 'mount its directory instead of the file alone'
  if (pinned === 'static') {
    return [`${mount.point} is a mount of one file and will not follow when its source is replaced: ${cure}.`]
  }
  return [
    `${mount.point} still shows what its source was before it was replaced or deleted: restart the ` +
      `container to get the present one, and ${cure}.`,
  ]
}

function adviseOnMount(mount: Mount): string[] {
  const { local, remote, rare, untimed } = capability(mount)
  if (remote === 'none') return []
  if (rare) {
    return [`Use watch() with backend: 'poll' if a layer of ${nameOf(mount)} is changed directly.`]
  }
  if (untimed) {
    return [
      `Read the files themselves at intervals: on ${nameOf(mount)} their contents change, but not the times that a poll compares.`,
    ]
  }
  const unseen = local === 'delivered' ? 'changes made elsewhere too' : 'all changes'
  return [
    `Use watch(): it polls ${nameOf(mount)} by itself, and so reports ${unseen}.`,
    'A program that you cannot change gets true events from a copy: run ' +
      "'inotify-bridge mirror SOURCE TARGET' with this path as SOURCE and a directory on tmpfs as TARGET.",
  ]
}

function nameOf({ point, type }: Mount): string {
  return `${point || 'a mount'} (${type})`
}

function adviseOnLimits(limits: InotifyLimits): string[] {
  return [
    ...adviseOnLimit('max_user_watches', limits.watchesInUse, limits.maxUserWatches),
    ...adviseOnLimit('max_user_instances', limits.instancesInUse, limits.maxUserInstances),
  ]
}

function adviseOnLimit(name: string, inUse: number, limit: number): string[] {
  if (!(inUse > limit * NEARLY_ALL)) return []
  return [
    `fs.inotify.${name} is ${limit} and ${inUse} are in use: ` +
      `raise it with 'sysctl -w fs.inotify.${name}=${2 * limit}'.`,
  ]
}
