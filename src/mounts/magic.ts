/**
 * f_type of statfs(2) to the type as mountinfo would name it. Only for where there is no mountinfo: virtiofs
 * and fuseblk have FUSE's number, ext2 to ext4 share one, and 9p shows that of the host's filesystem.
 */
const TYPES: ReadonlyMap<number, string> = new Map([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0xf2f52010, 'f2fs'],
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
  [0x2fc12fc1, 'zfs'],
  [0xca451a4e, 'bcachefs'],
  [0x2011bab0, 'exfat'],
  [0x4d44, 'vfat'],
  [0x7366746e, 'ntfs3'],
  [0x65735546, 'fuse'],
  [0x01021997, '9p'],
  [0x6969, 'nfs'],
  [0xff534d42, 'cifs'],
  [0xfe534d42, 'smb3'],
  [0x00c36400, 'ceph'],
  [0x0bd00bd0, 'lustre'],
  [0x47504653, 'gpfs'],
  [0x19830326, 'beegfs'],
  [0xaad7aaea, 'panfs'],
  [0x7461636f, 'ocfs2'],
  [0x01161970, 'gfs2'],
  [0xa501fcf5, 'vxfs'],
  [0x5346414f, 'afs'],
  [0x73757245, 'coda'],
  [0x564c, 'ncpfs'],
  [0x786f4256, 'vboxsf'],
  [0xbacbacbc, 'vmhgfs'],
  [0x7c7c6673, 'prl_fs'],
  [0x794c7630, 'overlay'],
  [0x61756673, 'aufs'],
  [0x73717368, 'squashfs'],
  [0xe0f5e1e2, 'erofs'],
  [0x9660, 'iso9660'],
  [0x28cd3d45, 'cramfs'],
  [0x9fa0, 'proc'],
  [0x62656572, 'sysfs'],
  [0x1cd1, 'devpts'],
  [0x64626720, 'debugfs'],
  [0x74726163, 'tracefs'],
  [0x0027e0eb, 'cgroup'],
  [0x63677270, 'cgroup2'],
  [0x0187, 'autofs'],
  [0xf15f, 'ecryptfs'],
  [0x00c0ffee, 'hostfs'],
])

/**
 * The filesystem type that f_type stands for; undefined if it is not a known one. Compared as unsigned 32
 * bits: f_type is a signed word, on a 32-bit kernel btrfs's is negative and on some 64-bit ones it comes
 * sign-extended.
 */
export function typeByMagic(fType: bigint | number): string | undefined {
  return TYPES.get(Number(BigInt.asUintN(32, BigInt(fType))))
}
