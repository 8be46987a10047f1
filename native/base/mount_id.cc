#include "base/mount_id.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/statx.h"

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000U
#endif

int64_t MountId(const char* path) {
  // DONT_SYNC: the mount is known here, no server need be asked.
  struct statx result = {};
  int error = AskStatx(AT_FDCWD, path, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_MNT_ID, &result);
  if (error < 0) return error;
  return (result.stx_mask & STATX_MNT_ID) != 0 ? static_cast<int64_t>(result.stx_mnt_id) : 0;
}
