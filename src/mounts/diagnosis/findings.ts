import type { Holder } from '../../inotify/holders.ts'
import type { InotifyLimits } from '../../inotify/limits.ts'
import { mayHang } from '../filesystems.ts'
import { isWithin, type Mount, type MountRow, mountAt, toMount } from '../mountinfo.ts'
import type { Environment } from './environment.ts'
import type { PathResolution } from './path_resolution.ts'
import type { SingleFileMount } from './single_file_mount.ts'

/** What there is to be judged about a path. */
export interface Findings {
  /** As it was given, made absolute. */
  readonly path: string
  readonly route: PathResolution
  readonly pinned: SingleFileMount
  /** That the path is, or leads through; undefined: none. */
  readonly volume: Volume | undefined
  /** What others can change, and no event tells of, of what is mounted below a directory: a watcher of all of it misses that. */
  readonly below: readonly Mount[]
  readonly environments: readonly Environment[]
  readonly limits: InotifyLimits
  readonly holders: readonly Holder[]
  /** Why no watch is to be had in this process: one sentence. */
  readonly refusal: string | undefined
}

/** {@link Findings.below}, by the mount table; what something else is mounted over is not there to be missed. */
export function silentBelow({ realPath, seen }: PathResolution, table: readonly MountRow[]): Mount[] {
  if (seen.kind !== 'directory') return []
  const below = table.filter(({ point }) => point !== realPath && isWithin(point, realPath))
  return below.filter((row) => mayHang(row) && mountAt(table, row.point) === row).map(toMount)
}

/** A ConfigMap, Secret, projected or downwardAPI volume as the kubelet's AtomicWriter makes it. */
export interface Volume {
  /** The directory in which '..data' lies: the symlink that the kubelet replaces at an update, and so the only name that events tell. */
  readonly directory: string
  readonly mount: Mount
}

/** The volume that a directory is, or the last on the way; undefined: none. A file behind '..data' changes without an event that names it. */
export function volumeOf({ isVolume, realPath, mount, links }: PathResolution): Volume | undefined {
  if (isVolume) return { directory: realPath, mount }
  const data = links.findLast(({ path }) => path.endsWith('/..data'))
  return data && { directory: data.path.slice(0, -'/..data'.length) || '/', mount: data.mount }
}

/** An overlay goes on showing a file that was replaced in its upper or lower directory: it has no name left. */
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

/** A user who has used more than this share of a limit is told before it is reached. */
const NEARLY_ALL = 0.9

/** The limits that are reached (`share` 1) or nearly so. One that /proc does not tell is never. */
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
