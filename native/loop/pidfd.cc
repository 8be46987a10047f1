#include "loop/pidfd.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

// The same on every architecture. Headers of before 5.3 have neither.
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

int PidfdOpen(int pid) {
  // 0 and below are EINVAL to the kernel as well; not left to a filter that stands in for it.
  if (pid <= 0) return -EINVAL;
  long fd = syscall(SYS_pidfd_open, pid, 0);
  return fd < 0 ? -errno : static_cast<int>(fd);
}

int PidfdSend(int fd, int signal) {
  return syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0) < 0 ? -errno : 0;
}
