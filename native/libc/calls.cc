// System calls, by the names and in the manner that libc has for them.

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "libc/trap.h"

namespace {

// There is one thread.
int last_error;

template <typename Word>
long AsLong(Word word) {
  return (long)word;  // Whatever it is, a pointer too.
}

template <typename... Words>
long Call(long number, Words... words) {
  const long all[6] = {AsLong(words)...};
  const long result = Trap(number, all[0], all[1], all[2], all[3], all[4], all[5]);
  if (result >= 0 || result < -4095) return result;
  last_error = static_cast<int>(-result);
  return -1;
}

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
  return Call(number, all[0], all[1], all[2], all[3], all[4], all[5]);
}

// Nothing here makes a file, so there is no mode.
int openat(int directory, const char* path, int flags, ...) {
  return static_cast<int>(Call(SYS_openat, directory, path, flags));
}

int fcntl(int fd, int command, ...) {
  va_list words;
  va_start(words, command);
  const long word = va_arg(words, long);
  va_end(words);
  return static_cast<int>(Call(SYS_fcntl, fd, command, word));
}

int prctl(int option, ...) {
  va_list words;
  va_start(words, option);
  const long word = va_arg(words, long);
  va_end(words);
  return static_cast<int>(Call(SYS_prctl, option, word));
}

int mount(const char* source, const char* target, const char* type, unsigned long flags, const void* data) {
  return static_cast<int>(Call(SYS_mount, source, target, type, flags, data));
}

int linkat(int directory, const char* path, int other, const char* name, int flags) {
  return static_cast<int>(Call(SYS_linkat, directory, path, other, name, flags));
}
int fstatfs(int fd, struct statfs* found) {
  return static_cast<int>(Call(SYS_fstatfs, fd, found));
}
int close(int fd) {
  return static_cast<int>(Call(SYS_close, fd));
}
ssize_t read(int fd, void* bytes, size_t length) {
  return Call(SYS_read, fd, bytes, length);
}
ssize_t write(int fd, const void* bytes, size_t length) {
  return Call(SYS_write, fd, bytes, length);
}
int unshare(int flags) {
  return static_cast<int>(Call(SYS_unshare, flags));
}
int fchdir(int fd) {
  return static_cast<int>(Call(SYS_fchdir, fd));
}
uid_t geteuid() {
  return static_cast<uid_t>(Call(SYS_geteuid));
}
gid_t getegid() {
  return static_cast<gid_t>(Call(SYS_getegid));
}

int execve(const char* path, char* const* argv, char* const* variables) {
  return static_cast<int>(Call(SYS_execve, path, argv, variables));
}

}  // extern "C"
