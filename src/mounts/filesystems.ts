import { inotifyRefusal } from '../inotify/refusal.ts'
import type { Mount } from './mountinfo.ts'

/** The events that a filesystem delivers to inotify. inotify_add_watch(2) succeeds on every one of them, so its success proves nothing. */
export interface Capability {
  /** Changes made through this kernel's own mounts. */
  local: 'delivered' | 'lost' | 'unknown'
  /**
   * Changes made elsewhere: by the host, a server, another client, a lower layer. 'none': nobody else can
   * make any.
   */
  remote: 'none' | 'silent' | 'unknown'
  /** One sentence, without the filesystem's name. */
  why: string
  /** The ones who may change it besides, where that is known. */
  others?: string
  /** Remote changes are possible, but so rare that polling for them by default would be a waste. */
  rare?: true
  /** Nothing happens to it. */
  readOnly?: true
  /** True: a name in another case may be the same file, and a listing may show another name than was given. */
  anyCase?: true
  /** Its files change without their times or sizes changing: only a comparison of contents tells. */
  untimed?: true
  /** Its directories may have no new times when names come and go in them: only listing them tells. */
  untimedDirectories?: true
}

/** The source of changes: inotify, polling, or both at once. */
export type Backend = 'inotify' | 'poll' | 'inotify+poll'

const SEEN_HERE = 'the kernel reports what is changed through this mount'

const OWN_DISK: Capability = {
  local: 'delivered',
  remote: 'none',
  why: 'only this kernel changes it, and it reports every change',
}
const OWN_DISK_IN_ANY_CASE: Capability = { ...OWN_DISK, anyCase: true }
const SHARED_FOLDER: Capability = {
  local: 'delivered',
  remote: 'silent',
  others: 'the host',
  why: `${SEEN_HERE}, but is not told what the host changes`,
}
const NETWORK: Capability = {
  local: 'delivered',
  remote: 'silent',
  others: 'the server or other clients',
  why: `${SEEN_HERE}, but is not told what the server or other clients change`,
}
const FUSE: Capability = {
  local: 'delivered',
  remote: 'silent',
  others: 'whoever is behind the FUSE server',
  why: `${SEEN_HERE}, but is not told what changes behind the FUSE server`,
  untimedDirectories: true,
}
const READ_ONLY: Capability = {
  readOnly: true,
  // There is nothing to be lost, and nothing that a poll could find.
  local: 'delivered',
  remote: 'none',
  why: 'it is read-only: there are events for opening and reading, and nothing else happens',
}
const MADE_BY_THE_KERNEL: Capability = {
  local: 'lost',
  remote: 'silent',
  untimed: true,
  why: 'the kernel makes its contents when they are read and reports no change of them',
}
const CONTROL_GROUPS: Capability = {
  local: 'delivered',
  remote: 'none',
  why:
    'the kernel reports groups made and removed, writes to their files, and changes of the *.events files; ' +
    'counters change without an event',
}
const OVERLAY: Capability = {
  local: 'delivered',
  remote: 'silent',
  rare: true,
  why:
    `${SEEN_HERE}, but not what is changed behind it, in the upper or a lower directory directly; that is ` +
    "rare (a container's own root is an overlay), so it is polled only with backend: 'poll'",
}
const DOCKER_DESKTOP: Capability = {
  local: 'delivered',
  remote: 'unknown',
  others: 'the host',
  why:
    `${SEEN_HERE}; of what the host changes Docker Desktop repeats some as events of its own, which is no promise for any of them ` +
    'and never a rename',
}
const GVISOR: Capability = {
  local: 'delivered',
  remote: 'silent',
  others: 'the host',
  why: "gVisor's own inotify reports what is changed in this sandbox, but is not told what is changed behind its gofer, on the host",
}
const UNRELIABLE: Capability = {
  local: 'unknown',
  remote: 'silent',
  why: 'its events are known to be unreliable, and what is changed in a branch directly is not reported',
}
const UNDECIDED: Capability = {
  local: 'delivered',
  remote: 'unknown',
  why: `${SEEN_HERE}; whether others can change it unseen is not known`,
}

/** By the type in mountinfo: f_type cannot tell virtiofs from FUSE, and 9p shows the host's. */
const BY_TYPE: ReadonlyMap<string, Capability> = new Map([
  ...rows(OWN_DISK, 'ext2 ext3 ext4 xfs btrfs f2fs tmpfs ramfs zfs bcachefs devtmpfs hugetlbfs'),
  ...rows(OWN_DISK_IN_ANY_CASE, 'exfat vfat ntfs3 fuseblk'),
  ...rows(SHARED_FOLDER, 'virtiofs vboxsf vmhgfs fuse.vmhgfs-fuse prl_fs'),
  ...rows(DOCKER_DESKTOP, 'fakeowner grpcfuse fuse.grpcfuse osxfs fuse.osxfs'),
  ...rows({ ...NETWORK, anyCase: true }, 'cifs smb3'),
  ...rows(NETWORK, 'nfs nfs4 ceph lustre gpfs beegfs panfs ocfs2 gfs2 vxfs afs coda ncpfs'),
  ...rows(FUSE, 'fuse'),
  ...rows(READ_ONLY, 'squashfs erofs iso9660 cramfs'),
  ...rows(
    MADE_BY_THE_KERNEL,
    'proc sysfs devpts debugfs tracefs securityfs configfs binfmt_misc fusectl selinuxfs pstore efivarfs',
  ),
  ...rows(CONTROL_GROUPS, 'cgroup cgroup2'),
  ...rows(OVERLAY, 'overlay'),
  ...rows(UNRELIABLE, 'aufs'),
  ...rows(UNDECIDED, 'autofs ecryptfs hostfs wslfs vzfs sdcardfs'),
])

function rows(capability: Capability, types: string): Array<[string, Capability]> {
  return types.split(' ').map((type) => [type, capability])
}

/** Returns the events that the filesystem of a mount delivers: by its type, for 9p by its cache mode too. */
export function capability(mount: Pick<Mount, 'type' | 'options'>): Capability {
  if (mount.type === '9p') return isGofer(mount) ? GVISOR : capabilityOf9p(mount.options)
  return BY_TYPE.get(mount.type) ?? (mount.type.startsWith('fuse.') ? FUSE : UNDECIDED)
}

/** gVisor shows what its gofer serves as 9p, with an option that the kernel's own 9p, which says rfd=, does not have. */
export function isGofer({ type, options }: Pick<Mount, 'type' | 'options'>): boolean {
  return type === '9p' && options.some((option) => option.startsWith('rfdno='))
}

/** Returns true if a server answers for the mount, and so may stop to. */
export function mayHang(mount: Pick<Mount, 'type' | 'options'>): boolean {
  return capability(mount).others !== undefined
}

/** The types of which something is known. '9p' goes by its options as well, 'fuse.*' for all that begin so. */
export function knownTypes(): string[] {
  return [...BY_TYPE.keys(), '9p', 'fuse.*']
}

/** The rule from capability to source. For a mount ask {@link chooseBackend}, which says why as well. */
export function backendFor({ local, remote, rare }: Capability): Backend {
  if (local !== 'delivered') return 'poll'
  return remote === 'none' || rare ? 'inotify' : 'inotify+poll'
}

/** A source of changes, and the reason: one sentence. */
export interface Choice {
  backend: Backend
  why: string
  /** See {@link Capability.anyCase}. */
  anyCase?: boolean
}

/** Returns the source that watch() uses for a mount if it is left to choose. */
export function chooseBackend(mount: Pick<Mount, 'type' | 'options'>): Choice {
  const refusal = inotifyRefusal()
  if (refusal !== undefined) return { backend: 'poll', why: `${mount.type}: ${refusal.hint}` }
  const found = capability(mount)
  const choice: Choice = { backend: backendFor(found), why: `${mount.type}: ${found.why}` }
  return found.anyCase ? { ...choice, anyCase: true } : choice
}

/**
 * Bits of v9fs's cache mode (fs/9p/v9fs.h) that make it keep directory entries: CACHE_META and CACHE_LOOSE.
 */
const KEEPS_ENTRIES = 0b1010

/**
 * 9p keeps an inode beyond its last use only when it caches directory entries. Without that a watch sits on
 * an inode that the next open() of the same path no longer meets, and even local events are lost.
 */
function capabilityOf9p(options: readonly string[]): Capability {
  const silent = { remote: 'silent', others: 'the host' } as const
  const unseen = 'what the host changes is never reported'
  switch (cachesEntries(options)) {
    case true:
      return { local: 'delivered', ...silent, why: `${SEEN_HERE}; ${unseen}` }
    case false:
      return {
        local: 'lost',
        ...silent,
        why: `without cache=loose or fscache even changes made here are lost; ${unseen}`,
      }
    case undefined:
      return { local: 'unknown', ...silent, why: `its cache mode is not a known one; ${unseen}` }
  }
}

/**
 * The kernel has shown the mode in four ways: not at all (none), as a bare word (before 6.4: 'mmap', as on
 * WSL 2), and as bits in hexadecimal without ('cache=f') and with 0x.
 */
function cachesEntries(options: readonly string[]): boolean | undefined {
  const words = new Map([
    ['none', false],
    ['readahead', false],
    ['mmap', false],
    ['loose', true],
    ['fscache', true],
  ])
  const named = options.find((option) => option.startsWith('cache='))?.slice('cache='.length)
  if (named === undefined) return options.some((option) => words.get(option))
  if (/^(0x)?[0-9a-f]{1,2}$/.test(named)) return (Number.parseInt(named, 16) & KEEPS_ENTRIES) !== 0
  return words.get(named)
}
