import type { Holder } from '../../inotify/holders.ts'
import type { InotifyLimits } from '../../inotify/limits.ts'
import { mayHang } from '../filesystems.ts'
import { isWithin, type Mount, type MountRow, mountAt, toMount } from '../mountinfo.ts'
import type { Environment } from './environment.ts'
import type { PathResolution } from './path_resolution.ts'
import type { SingleFileMount } from './single_file_mount.ts'

/** The facts about a path that are to be judged. */
export interface Findings {
  /** The given path, made absolute. */
  readonly path: string
  readonly route: PathResolution
  readonly pinned: SingleFileMount
  /** The volume that the path is, or leads through; undefined: none. */
  readonly volume: Volume | undefined
  /** The mounts below a directory that others can change without an event. A watcher of the whole directory misses those changes. */
  readonly below: readonly Mount[]
  readonly environments: readonly Environment[]
  readonly limits: InotifyLimits
  readonly holders: readonly Holder[]
  /** The reason why this process can get no watch, in one sentence. */
  readonly refusal: string | undefined
  /** False: inotify_add_watch(2) fails with EACCES, as this user may not read the path. */
  readonly isReadable: boolean
}

/** Returns {@link Findings.below}, by the mount table. Omits a mount that another mount hides: nobody can miss its changes. */
export function silentBelow({ realPath, seen }: PathResolution, table: readonly MountRow[]): Mount[] {
  if (seen.kind !== 'directory') return []
  const below = table.filter(({ point }) => point !== realPath && isWithin(point, realPath))
  return below.filter((row) => mayHang(row) && mountAt(table, row.point) === row).map(toMount)
}

/** A ConfigMap, Secret, projected or downwardAPI volume as the kubelet's AtomicWriter makes it. */
export interface Volume {
  /** The directory of '..data', the symlink that the kubelet replaces at an update. Events name '..data' only. */
  readonly directory: string
  readonly mount: Mount
}

/** Returns the volume that a directory is, or the last on the way; undefined: none. A file behind '..data' changes without an event that names it. */
export function volumeOf({ isVolume, realPath, mount, links }: PathResolution): Volume | undefined {
  if (isVolume) return { directory: realPath, mount }
  const data = links.findLast(({ path }) => path.endsWith('/..data'))
  return data && { directory: data.path.slice(0, -'/..data'.length) || '/', mount: data.mount }
}

/** Returns true for a file without a name left on an overlay: it was replaced in the upper or lower directory, and the overlay goes on showing the old one. */
export function isLeftByLayer({ route: { mount, seen } }: Pick<Findings, 'route'>): boolean {
  return mount.type === 'overlay' && seen.kind === 'file' && seen.links === 0n
}

/** A limit of inotify(7), and how far it is used up. */
export interface Use {
  readonly sysctl: string
  readonly what: string
  readonly limit: number
  readonly inUse: number
}

/** The share of a limit above which a user is warned, before the limit is reached. */
const NEARLY_ALL = 0.9

/** Returns the limits that are reached (`share` 1) or nearly so. A limit that /proc does not tell is never among them. */
export function scarce({ limits }: Pick<Findings, 'limits'>, share = NEARLY_ALL): Use[] {
  const uses: Use[] = [
    {
      sysctl: limits.watchesLimitedBy,
      what: 'inotify watches',
      limit: limits.maxUserWatches,
      inUse: limits.watchesInUse,
    },
    {
      sysctl: limits.instancesLimitedBy,
      what: 'inotify instances',
      limit: limits.maxUserInstances,
      inUse: limits.instancesInUse,
    },
  ]
  return uses.filter(({ limit, inUse }) => inUse >= limit || inUse > limit * share)
}
