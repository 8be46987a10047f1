import { closeSync, openSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { type Holder, readHolders } from './holders.ts'

/** The limits of inotify(7), and how much of them this user has used up. NaN: /proc does not say. */
export interface InotifyLimits {
  /** fs.inotify.max_user_watches: per user, over all of its instances. */
  maxUserWatches: number
  /** fs.inotify.max_user_instances: per user. */
  maxUserInstances: number
  /** fs.inotify.max_queued_events: per instance, as it was when the instance was made. */
  maxQueuedEvents: number
  /** At least so many: processes in other containers count as well and cannot be seen. */
  watchesInUse: number
  /** As {@link watchesInUse}; an instance that two processes share after a fork is seen twice. */
  instancesInUse: number
}

/**
 * How long a snapshot serves: who meets ENOSPC in each of 10,000 directories must not walk /proc 10,000
 * times.
 */
const REUSE_MS = 1000

let snapshot: { limits: InotifyLimits; holders: Holder[]; takenAt: number } | undefined

/** The limits and their use; at most a second old. */
export function inotifyLimits(): InotifyLimits {
  return { ...latest().limits }
}

/** Who uses them, the one with most watches first; as old as {@link inotifyLimits}. */
export function inotifyHolders(): readonly Holder[] {
  return latest().holders
}

function latest() {
  if (snapshot === undefined || performance.now() - snapshot.takenAt >= REUSE_MS) {
    const holders = readHolders('/proc', process.getuid?.() ?? 0)
    // Timed after the walk, or one that takes a second would never be used again.
    snapshot = { limits: limitsWith('/proc', holders), holders, takenAt: performance.now() }
  }
  return snapshot
}

/** The limits as a /proc shows them, and their use by a real uid (whose they are, by inotify(7)). */
export function readInotifyLimits(proc: string, uid: number): InotifyLimits {
  return limitsWith(proc, readHolders(proc, uid))
}

function limitsWith(proc: string, holders: readonly Holder[]): InotifyLimits {
  return {
    maxUserWatches: readLimit(proc, 'max_user_watches'),
    maxUserInstances: readLimit(proc, 'max_user_instances'),
    maxQueuedEvents: readLimit(proc, 'max_queued_events'),
    watchesInUse: holders.reduce((sum, { watches }) => sum + watches, 0),
    instancesInUse: holders.reduce((sum, { instances }) => sum + instances, 0),
  }
}

/**
 * What to do about an errno of inotify_init1(2), inotify_add_watch(2) or inotify_rm_watch(2): one sentence,
 * '' for one that these do not give. For ENOSPC and EMFILE it reads the limits, so it has the present
 * numbers.
 */
export function addHint(errno: number, limits: () => InotifyLimits = inotifyLimits): string {
  const { ENOSPC, EMFILE } = constants.errno
  if (errno === ENOSPC) return watchesUsedUp(limits())
  if (errno === EMFILE) return descriptorsUsedUp() ? RAISE_ULIMIT : instancesUsedUp(limits())
  return HINTS.get(errno) ?? ''
}

/** The same of open(2): its EMFILE is the process's own limit. */
export function openHint(errno: number): string {
  return errno === constants.errno.EMFILE ? RAISE_ULIMIT : (HINTS.get(errno) ?? '')
}

const RAISE_ULIMIT =
  'this process has as many files open as it may: raise its limit ' +
  "with 'ulimit -n' (LimitNOFILE= in a systemd unit)"

const HINTS: ReadonlyMap<number, string> = new Map([
  [constants.errno.ENOENT, 'no such path, or a dangling symlink: watch the directory it will appear in'],
  [
    constants.errno.EACCES,
    'read permission on the target itself is needed, and search permission (x) on each directory of its path',
  ],
  [
    constants.errno.ENOTDIR,
    'IN_ONLYDIR was asked for and this is no directory, or a component of the path is a file',
  ],
  [
    constants.errno.EINVAL,
    'the mask is empty or has bits that contradict each other (IN_MASK_ADD with IN_MASK_CREATE), ' +
      'or the watch descriptor is not, or no longer, one of this instance',
  ],
  [
    constants.errno.EEXIST,
    'IN_MASK_CREATE was asked for and this inode is watched already, perhaps by another path',
  ],
  [
    constants.errno.ENAMETOOLONG,
    'a name may have 255 bytes and a path 4095: go through /proc/self/fd/N of an open directory',
  ],
  [constants.errno.ENOMEM, 'the kernel has no memory for it; a container may have reached its memory limit'],
  [constants.errno.ENFILE, 'the whole system has as many files open as it may: raise fs.file-max'],
  [
    constants.errno.EAGAIN,
    'no further thread: raise the limit of this user (ulimit -u, LimitNPROC= in a systemd unit) or of the container (pids.max)',
  ],
  [constants.errno.EBADF, 'this instance is closed'],
])

function watchesUsedUp({ maxUserWatches, watchesInUse }: InotifyLimits): string {
  return `no watch is left: ${raise('max_user_watches', maxUserWatches, watchesInUse)}`
}

function instancesUsedUp({ maxUserInstances, instancesInUse }: InotifyLimits): string {
  return `no inotify instance is left: ${raise('max_user_instances', maxUserInstances, instancesInUse)}`
}

function raise(name: string, limit: number, inUse: number): string {
  const sysctl = `fs.inotify.${name}`
  const elsewhere = inUse < limit ? ' that can be seen from here; those in other containers count too' : ''
  const [shown, more] = Number.isNaN(limit) ? ['unknown', '<more>'] : [limit, 2 * limit]
  return (
    `${sysctl} is ${shown}, ${inUse} in use by this user${elsewhere}; raise it with ` +
    `'sysctl -w ${sysctl}=${more}', and for good with that setting in a file of /etc/sysctl.d`
  )
}

/**
 * Whether this process may open no more files: the surest answer to which of EMFILE's two limits it was. Three, because an
 * instance takes three: its own and those of the eventfd and the timerfd that wake its guard.
 */
function descriptorsUsedUp(): boolean {
  const opened: number[] = []
  try {
    for (let i = 0; i < 3; i++) opened.push(openSync('/', 'r'))
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EMFILE'
  } finally {
    opened.forEach(closeSync)
  }
}

function readLimit(proc: string, name: string): number {
  try {
    return Number.parseInt(readFileSync(join(proc, 'sys/fs/inotify', name), 'utf8'), 10)
  } catch {
    return Number.NaN
  }
}
