#include "queue/refusal.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

int Refusal() {
  // The kernel itself answers EINVAL to unknown flags, and EBADF to no descriptor.
  int fd = inotify_init1(~0);
  if (fd < 0 && errno != EINVAL) return -errno;
  // An emulator that drops the flags has made one.
  if (fd >= 0) close(fd);
  int wd = inotify_add_watch(-1, "/", IN_CREATE);
  return wd < 0 && errno != EBADF ? errno : 0;
}
