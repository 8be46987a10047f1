/** The filesystem of a root. */
export interface Filesystem {
  /** 'ext4', 'virtiofs'; '' if it is not known. */
  readonly type: string
  /** As the mount table has it: the device, the tag, the server's path. */
  readonly source: string
  /** st_dev of stat(2), as text: anonymous ones are given anew by each mount. */
  readonly device: string
}

/** 'same': inode numbers mean what they meant. 'names': nothing tells so, and names alone count. 'another': nothing of it is to be compared. */
export type Likeness = 'same' | 'names' | 'another'

// Filesystems that keep inode numbers and times of birth on the disk, or a server, whatever mounts them.
const LASTING = new Set([
  'ext2',
  'ext3',
  'ext4',
  'xfs',
  'btrfs',
  'f2fs',
  'zfs',
  'bcachefs',
  'nfs',
  'nfs4',
  'ceph',
])

// Filesystems whose content goes with the mount.
const PASSING = new Set(['tmpfs', 'ramfs'])

/** Returns how far the present entries can be compared with the saved ones, by inode number and time of birth. */
export function likenessOf(saved: Filesystem, now: Filesystem, isSameBoot: boolean): Likeness {
  // A root that was lost when it was saved.
  if (saved.type === '') return 'names'
  if (saved.type !== now.type || saved.source !== now.source) return 'another'
  if (isSameBoot && saved.device === now.device) return 'same'
  if (LASTING.has(now.type)) return 'same'
  return PASSING.has(now.type) ? 'another' : 'names'
}
