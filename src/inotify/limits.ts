import { closeSync, openSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { type Holder, readHolders } from './holders.ts'
import { inotifyRefusal } from './refusal.ts'

/** The limits of inotify(7), and how much of them this user has in use; up to a second old. `NaN`: /proc does not say. */
export interface InotifyLimits {
  /** Watches per user, over all instances: the lower one of the sysctls that {@link watchesLimitedBy} may name. */
  maxUserWatches: number
  /** The sysctl that counts. `user.*` is the user namespace's own limit (namespaces(7)). */
  watchesLimitedBy: 'fs.inotify.max_user_watches' | 'user.max_inotify_watches'
  /** Instances per user, chosen likewise. */
  maxUserInstances: number
  /** The sysctl that counts. */
  instancesLimitedBy: 'fs.inotify.max_user_instances' | 'user.max_inotify_instances'
  /** `fs.inotify.max_queued_events`: events per instance, as it was when the instance was made. */
  maxQueuedEvents: number
  /** Watches in use, at least: processes of other containers count as well and cannot be seen. */
  watchesInUse: number
  /** Instances in use, likewise. An instance that two processes share after a fork counts twice. */
  instancesInUse: number
}

/** The age in ms up to which a snapshot serves: a caller that meets ENOSPC in each of 10,000 directories must not walk /proc 10,000 times. */
const REUSE_MS = 1000

let snapshot: { limits: InotifyLimits; holders: Holder[]; takenAt: number } | undefined

/** The limits and their use; at most a second old. */
export function inotifyLimits(): InotifyLimits {
  return { ...latest().limits }
}

/** Returns the processes that use them, the one with most watches first; as old as {@link inotifyLimits}. */
export function inotifyHolders(): readonly Holder[] {
  return latest().holders
}

function latest() {
  if (snapshot === undefined || performance.now() - snapshot.takenAt >= REUSE_MS) {
    const holders = readHolders('/proc', process.getuid?.() ?? 0)
    // Timed after the walk, or a snapshot whose walk takes a second would never be used again.
    snapshot = { limits: limitsWith('/proc', holders), holders, takenAt: performance.now() }
  }
  return snapshot
}

/** Returns the limits that a /proc shows, and their use by a real uid (inotify(7) counts by that). */
export function readInotifyLimits(proc: string, uid: number): InotifyLimits {
  return limitsWith(proc, readHolders(proc, uid))
}

function limitsWith(proc: string, holders: readonly Holder[]): InotifyLimits {
  const watches = lower(proc, 'fs.inotify.max_user_watches', 'user.max_inotify_watches')
  const instances = lower(proc, 'fs.inotify.max_user_instances', 'user.max_inotify_instances')
  return {
    maxUserWatches: watches.limit,
    watchesLimitedBy: watches.sysctl,
    maxUserInstances: instances.limit,
    instancesLimitedBy: instances.sysctl,
    maxQueuedEvents: readLimit(proc, 'fs.inotify.max_queued_events'),
    watchesInUse: holders.reduce((sum, { watches }) => sum + watches, 0),
    instancesInUse: holders.reduce((sum, { instances }) => sum + instances, 0),
  }
}

/**
 * Returns one sentence that says how to mend an errno of inotify_init1(2), inotify_add_watch(2) or inotify_rm_watch(2); '' for one that these do not give.
 * ENOSPC and EMFILE: reads the limits, so that the sentence has the present numbers.
 */
export function addHint(errno: number, limits: () => InotifyLimits = inotifyLimits): string {
  const { ENOSPC, EMFILE } = constants.errno
  if (errno === ENOSPC) return watchesUsedUp(limits())
  if (errno === EMFILE) return descriptorsUsedUp() ? RAISE_ULIMIT : instancesUsedUp(limits())
  const refusal = inotifyRefusal()
  return (refusal?.errno === -errno ? refusal.hint : HINTS.get(errno)) ?? ''
}

/** Returns the hint for an errno of open(2), whose EMFILE is the process's own limit. */
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
    'read permission on the target itself is needed, search permission (x) on each directory of its path, and that no security module (SELinux) refuses the watch',
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

function watchesUsedUp({ watchesLimitedBy, maxUserWatches, watchesInUse }: InotifyLimits): string {
  return `no watch is left: ${raise(watchesLimitedBy, maxUserWatches, watchesInUse)}`
}

function instancesUsedUp({ instancesLimitedBy, maxUserInstances, instancesInUse }: InotifyLimits): string {
  return `no inotify instance is left: ${raise(instancesLimitedBy, maxUserInstances, instancesInUse)}`
}

/** Returns a command that raises a used-up limit, and how that lasts: the limit of a user namespace goes with the namespace. */
export function howToRaise(sysctl: string, limit: number): string {
  // A limit of 0 forbids it.
  const command = `'sysctl -w ${sysctl}=${Number.isNaN(limit) ? '<more>' : Math.max(2 * limit, 128)}'`
  return sysctl.startsWith('user.')
    ? `${command} as root of this user namespace, and again in each that is made`
    : `${command}, and for good with that setting in a file of /etc/sysctl.d`
}

function raise(sysctl: string, limit: number, inUse: number): string {
  const elsewhere = inUse < limit ? ' that can be seen from here; those in other containers count too' : ''
  const shown = Number.isNaN(limit) ? 'unknown' : limit
  return `${sysctl} is ${shown}, ${inUse} in use by this user${elsewhere}; raise it with ${howToRaise(sysctl, limit)}`
}

/**
 * Returns true if this process may open no more files: the surest answer to which of EMFILE's two limits it was.
 * Tries three, because an instance takes three: its own and those of the eventfd and the timerfd that wake its guard.
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

/** Returns the lower limit, with its sysctl. In the first user namespace both are the same limit. */
function lower<Own, User>(proc: string, own: Own & string, user: User & string) {
  const [limit, ofNamespace] = [readLimit(proc, own), readLimit(proc, user)]
  const isLower = ofNamespace < (Number.isNaN(limit) ? Number.POSITIVE_INFINITY : limit)
  return isLower ? { limit: ofNamespace, sysctl: user } : { limit, sysctl: own }
}

function readLimit(proc: string, sysctl: string): number {
  try {
    return Number.parseInt(readFileSync(join(proc, 'sys', sysctl.replaceAll('.', '/')), 'utf8'), 10)
  } catch {
    return Number.NaN
  }
}
