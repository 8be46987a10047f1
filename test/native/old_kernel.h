#pragma once

// A kernel before 5.6, for programs that are linked with --wrap=syscall.

#include <errno.h>
#include <sys/syscall.h>

inline bool has_openat2 = true;

extern "C" {
long __real_syscall(long, long, long, long, long, long, long);
inline __attribute__((used)) long __wrap_syscall(long number, long a, long b, long c, long d, long e,
                                                 long f) {
  if (number != SYS_openat2 || has_openat2) return __real_syscall(number, a, b, c, d, e, f);
  errno = ENOSYS;
  return -1;
}
}
