#include "run/watched/mounts.h"

#include <stdint.h>
#include <sys/vfs.h>

// By statfs(2); stat(1) of coreutils has the numbers. Those that watch() polls by the names in mountinfo:
// src/mounts/filesystems.ts.
bool IsSilent(int fd) {
  struct statfs found;
  if (fstatfs(fd, &found) != 0) return false;
  switch (static_cast<uint32_t>(found.f_type)) {
    case 0x65735546:  // FUSE, virtiofs
    case 0x6969:      // NFS
    case 0x01021997:  // 9p
    case 0xff534d42:  // CIFS
    case 0xfe534d42:  // SMB2
    case 0x517b:      // SMB
    case 0x00c36400:  // Ceph
    case 0x5346414f:  // AFS
    case 0x0bd00bd0:  // Lustre
    case 0x47504653:  // GPFS
    case 0x786f4256:  // VirtualBox's shared folders
    case 0xbacbacbc:  // VMware's
    case 0x6b414653:  // AFS, the kernel's own
    case 0x73757245:  // Coda
    case 0x19830326:  // BeeGFS
    case 0xaad7aaea:  // PanFS
    case 0x01161970:  // GFS2
    case 0x7461636f:  // OCFS2
    case 0xa501fcf5:  // VxFS
    case 0x7c7c6673:  // Parallels's shared folders
    case 0x61756673:  // aufs
      return true;
    default:
      return false;
  }
}
