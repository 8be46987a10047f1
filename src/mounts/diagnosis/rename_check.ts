import type { Mount } from '../mountinfo.ts'
import type { PathResolution } from './path_resolution.ts'

/** The outcome of rename(2) from one path to another, and the event that a watcher of the second would hear. */
export interface RenameCheck {
  /** 'rename': IN_MOVED_TO · 'EXDEV': mv(1) copies · 'EBUSY': what would be moved, or replaced, is a mount point */
  readonly outcome: 'rename' | 'EXDEV' | 'EBUSY' | 'EROFS'
  /** The directories between which the file would be moved. */
  readonly from: Place
  readonly to: Place
  /** One sentence each. */
  readonly verdict: string
  readonly why: string
  readonly advice: string[]
}

/** A directory, and where it lies. */
export interface Place {
  readonly path: string
  readonly mount: Mount
}

/** The facts about one of the two paths: the way to it, and to the directory that it is or lies in. */
export interface End {
  readonly path: string
  readonly route: PathResolution
  readonly directory: PathResolution
}

/**
 * The kernel compares mounts, not file systems: two bind mounts of one file system are different mounts, though st_dev is the same
 * (rename(2), EXDEV). Two directories on one mount may be of different btrfs subvolumes, which btrfs numbers as devices.
 */
export function checkRename(a: End, b: End): RenameCheck {
  const from: Place = { path: a.directory.realPath, mount: a.directory.mount }
  const to: Place = { path: b.directory.realPath, mount: b.directory.mount }
  const busy = [a, b].find(
    ({ route }) => route.seen.kind !== 'directory' && route.mount.point === route.realPath,
  )
  if (busy !== undefined) return { from, to, ...ofMountPoint(busy.path) }
  if (to.mount.options.includes('ro')) return { from, to, ...ofReadOnly(to) }
  const why = whyApart(a.directory, b.directory)
  if (why !== undefined) return { from, to, ...acrossMounts(from, to, why) }
  return {
    outcome: 'rename',
    from,
    to,
    verdict: `A file moved from ${from.path} to ${to.path} is renamed: a watcher of ${to.path} sees IN_MOVED_TO.`,
    why: `Both lie on the mount at ${from.mount.point || '?'} (${from.mount.type}).`,
    advice: [],
  }
}

type Judged = Omit<RenameCheck, 'from' | 'to'>

/** Returns why rename(2) fails between two directories; undefined: it works. */
function whyApart(a: PathResolution, b: PathResolution): string | undefined {
  const isOther = a.mount.id !== b.mount.id || a.mount.point !== b.mount.point
  const [from, to] = [describe(a.mount), describe(b.mount)]
  if (isOther && a.seen.device === b.seen.device) {
    return `They are two mounts of one file system, ${from} and ${to}: st_dev is the same, and rename(2) fails nevertheless.`
  }
  if (isOther) return `They lie on different mounts: ${from} and ${to}.`
  if (a.seen.device === b.seen.device) return undefined
  return `They are different subvolumes (${a.realPath} and ${b.realPath}) of the file system at ${from}.`
}

function describe({ type, point, root }: Mount): string {
  return `${point || 'an unknown mount'} (${type}${root === '/' ? '' : `, ${root} of it`})`
}

function acrossMounts(from: Place, to: Place, why: string): Judged {
  return {
    outcome: 'EXDEV',
    verdict:
      `A file moved from ${from.path} to ${to.path} will be EXDEV, and no watcher of ${to.path} will see IN_MOVED_TO: mv copies it instead, ` +
      'and readers may find it half written.',
    why,
    advice: [
      `Use 'inotify-bridge publish FILE ${to.path}', or moveFile(): they copy it beside its destination, flush it and rename it there.`,
      `By hand: 'cp NEW ${to.path}/.NAME.tmp && mv ${to.path}/.NAME.tmp ${to.path}/NAME'. ` +
        "That is IN_MOVED_TO (what Envoy waits for), and nobody sees a part of it. Flush it first if it must survive a crash ('sync FILE').",
      'In a pod: share one volume between the two, and one volumeMount for both directories; two mountPaths, or two subPaths, of one volume are two mounts.',
    ],
  }
}

function ofReadOnly(to: Place): Judged {
  return {
    outcome: 'EROFS',
    verdict: `No file can be moved to ${to.path}: it is mounted read-only here (EROFS).`,
    why: `${describe(to.mount)} has the option ro.`,
    advice: [
      'In a pod every ConfigMap and Secret is: change the object, or write to an emptyDir. Elsewhere mount it rw, or write where it is mounted from.',
    ],
  }
}

function ofMountPoint(point: string): Judged {
  return {
    outcome: 'EBUSY',
    verdict: `${point} is a mount point: it can neither be moved nor replaced by a rename (EBUSY), so no watcher will see IN_MOVED_TO.`,
    why: `A single file is mounted at ${point} (Kubernetes' subPath, docker -v file).`,
    advice: ['Mount the directory instead of the file; inotify-bridge diagnose of the file alone says how.'],
  }
}
