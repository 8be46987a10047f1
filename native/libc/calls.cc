// System calls in the manner that libc has for them; by name those that are called by several, or by what the
// addon has as well.

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "libc/trap.h"

namespace {

// There is one thread.
int last_error;

}  // namespace

extern "C" {

int* __errno_location() {
  return &last_error;
}

// More words are read than may have been given: what the kernel does not ask for is nothing to it.
long syscall(long number, ...) {
  va_list words;
  va_start(words, number);
  long all[6];
  for (long& word : all) word = va_arg(words, long);
  va_end(words);
  const long result = Trap(number, all[0], all[1], all[2], all[3], all[4], all[5]);
  if (result >= 0 || result < -4095) return result;
  last_error = static_cast<int>(-result);
  return -1;
}

// Nothing here makes a file, so there is no mode.
int openat(int directory, const char* path, int flags, ...) {
  return static_cast<int>(syscall(SYS_openat, directory, path, flags));
}

int linkat(int directory, const char* path, int other, const char* name, int flags) {
  return static_cast<int>(syscall(SYS_linkat, directory, path, other, name, flags));
}
int fstatfs(int fd, struct statfs* found) {
  return static_cast<int>(syscall(SYS_fstatfs, fd, found));
}
int close(int fd) {
  return static_cast<int>(syscall(SYS_close, fd));
}
ssize_t read(int fd, void* bytes, size_t length) {
  return syscall(SYS_read, fd, bytes, length);
}
uid_t geteuid() {
  return static_cast<uid_t>(syscall(SYS_geteuid));
}
gid_t getegid() {
  return static_cast<gid_t>(syscall(SYS_getegid));
}

}  // extern "C"
