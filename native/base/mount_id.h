#pragma once

#include <cstdint>

// The id in /proc/self/mountinfo of the mount that a path lies on, symlinks followed. 0 where the kernel
// (before 5.8, or with statx(2) refused) does not say; -errno.
int64_t MountId(const char* path);
