#include "loop/reap.h"

#include <errno.h>
#include <sys/wait.h>

int Reap(int pid) {
  // 0 and below stand for whole groups of children, among them those that libuv waits for by their pids.
  if (pid <= 0) return -EINVAL;
  pid_t reaped;
  do {
    reaped = waitpid(pid, nullptr, WNOHANG);
  } while (reaped < 0 && errno == EINTR);
  return reaped < 0 ? -errno : static_cast<int>(reaped);
}
