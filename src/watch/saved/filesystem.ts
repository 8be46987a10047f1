/** On which filesystem something lies. */
export interface Filesystem {
  /** 'ext4', 'virtiofs'; '' where nobody could say. */
  readonly type: string
  /** As the mount table has it: the device, the tag, the server's path. */
  readonly source: string
  /** st_dev of stat(2), as text: anonymous ones are given anew by each mount. */
  readonly device: string
}

/** 'same': inode numbers mean what they meant. 'names': nothing tells so, and names alone count. 'another': nothing of it is to be compared. */
export type Likeness = 'same' | 'names' | 'another'

// Inode numbers and times of birth are on the disk, or a server's, whatever mounts it.
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

// What was in it has gone with the mount.
const PASSING = new Set(['tmpfs', 'ramfs'])

/** How far what is there now can be compared, by inode number and time of birth, with what was saved. */
export function likenessOf(saved: Filesystem, now: Filesystem, isSameBoot: boolean): Likeness {
  // A root that was lost when it was saved.
  if (saved.type === '') return 'names'
  if (saved.type !== now.type || saved.source !== now.source) return 'another'
  if (isSameBoot && saved.device === now.device) return 'same'
  if (LASTING.has(now.type)) return 'same'
  return PASSING.has(now.type) ? 'another' : 'names'
}
