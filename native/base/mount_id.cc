#include "base/mount_id.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000U
#endif

int64_t MountId(const char* path) {
  // The raw call: glibc's statx() would demand a newer glibc than the rest of this file.
  // DONT_SYNC: the mount is known here, no server need be asked.
  struct statx result = {};
  long status;
  do {
    status = syscall(SYS_statx, AT_FDCWD, path, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_MNT_ID, &result);
  } while (status < 0 && errno == EINTR);
  if (status < 0) return -errno;
  return (result.stx_mask & STATX_MNT_ID) != 0 ? static_cast<int64_t>(result.stx_mnt_id) : 0;
}
