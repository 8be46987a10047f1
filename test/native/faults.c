// Preloaded: makes system calls of the addon fail, one kind at a time, and counts all of them. Lets the calls
// of Node and libuv through.
//
// FAULTS names a mapped file, through which another program switches a fault on and off while the process
// runs: see struct control. System calls that the addon makes without libc are not counted (there are none:
// faults.test.ts looks).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <unistd.h>

// clang-format off: it would arrange this list differently each time.
#define CALLS(X)       \
  X(inotify_init1)     \
  X(inotify_add_watch) \
  X(inotify_rm_watch)  \
  X(read)              \
  X(ioctl)             \
  X(eventfd)           \
  X(eventfd_read)      \
  X(eventfd_write)     \
  X(timerfd_create)    \
  X(timerfd_settime)   \
  X(poll)              \
  X(mmap)              \
  X(munmap)            \
  X(openat)            \
  X(open)              \
  X(openat2)           \
  X(close)             \
  X(fcntl)             \
  X(statx)             \
  X(newfstatat)        \
  X(getdents64)        \
  X(fstatfs)           \
  X(readlinkat)        \
  X(posix_fadvise)     \
  X(chdir)             \
  X(fchdir)            \
  X(unshare)           \
  X(setpriority)       \
  X(write)             \
  X(mkdirat)           \
  X(symlinkat)         \
  X(linkat)            \
  X(renameat2)         \
  X(unlinkat)          \
  X(chmod)             \
  X(fchownat)          \
  X(fsync)             \
  X(flock)             \
  X(futimens)          \
  X(waitpid)           \
  X(pidfd_open)        \
  X(pidfd_send_signal) \
  X(pthread_create)    \
  X(fanotify_init)     \
  X(fanotify_mark)     \
  X(name_to_handle_at) \
  X(open_by_handle_at)
// clang-format on

#define NUMBER(name) CALL_##name,
enum { CALLS(NUMBER) CALL_COUNT };
#define NAME(name) #name,
static const char* const names[] = {CALLS(NAME)};

struct control {
  // The call that fails; -1: none.
  _Atomic int32_t call;
  _Atomic int32_t number;
  // The number of calls that are let through first, and the number that fail then.
  _Atomic int32_t skip;
  _Atomic int32_t most;
  // The number of failures so far.
  _Atomic int32_t failed;
  int32_t count;
  struct {
    char name[24];
    // The number of calls that the addon has made, failed or not.
    _Atomic int32_t made;
  } calls[64];
};

static struct control* control;
static void* real[CALL_COUNT];

// Returns the name that the addon links a call by.
static const char* symbol(int call) {
  switch (call) {
    case CALL_mmap:
      return "mmap64";
    case CALL_openat:
      return "openat64";
    case CALL_open:
      return "open64";
    case CALL_fstatfs:
      return "fstatfs64";
    case CALL_posix_fadvise:
      return "posix_fadvise64";
    default:
      return names[call];
  }
}

static long (*real_syscall)(long, ...);

__attribute__((constructor)) static void begin(void) {
  for (int call = 0; call < CALL_COUNT; call++) real[call] = dlsym(RTLD_NEXT, symbol(call));
  real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  const char* path = getenv("FAULTS");
  if (path == NULL) return;
  int fd = (int)real_syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) return;
  void* memory = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  real_syscall(SYS_close, fd);
  if (memory == MAP_FAILED) return;
  control = memory;
  control->count = CALL_COUNT;
  for (int call = 0; call < CALL_COUNT; call++) strcpy(control->calls[call].name, names[call]);
}

// The place of the addon, once it is loaded. dladdr(3) would search all of Node's symbols each time.
static _Atomic uintptr_t addon_begins, addon_ends;

static int find_addon(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  (void)data;
  const char* name = strrchr(info->dlpi_name, '/');
  if (name == NULL || strcmp(name, "/inotify_bridge.node") != 0) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD || (info->dlpi_phdr[i].p_flags & PF_X) == 0) continue;
    addon_begins = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    addon_ends = addon_begins + info->dlpi_phdr[i].p_memsz;
  }
  return 1;
}

static int is_of_addon(void* address) {
  if (addon_ends == 0 && dl_iterate_phdr(find_addon, NULL) == 0) return 0;
  uintptr_t at = (uintptr_t)address;
  return at >= addon_begins && at < addon_ends;
}

// Returns the errno of a fault, or 0.
static int fault(int call, void* caller) {
  if (control == NULL) return 0;
  // libuv makes the threads for the addon.
  if (call != CALL_pthread_create && !is_of_addon(caller)) return 0;
  atomic_fetch_add(&control->calls[call].made, 1);
  if (control->call != call) return 0;
  if (atomic_fetch_sub(&control->skip, 1) > 0) return 0;
  if (atomic_fetch_sub(&control->most, 1) <= 0) return 0;
  atomic_fetch_add(&control->failed, 1);
  return control->number;
}

#define FAIL(call, failure)                                       \
  do {                                                            \
    int number = fault(CALL_##call, __builtin_return_address(0)); \
    if (number != 0) {                                            \
      errno = number;                                             \
      return failure;                                             \
    }                                                             \
  } while (0)

#define PASS(call, type) ((type)real[CALL_##call])

#define WRAP(result, call, symbol, failure, parameters, arguments) \
  result symbol parameters {                                       \
    FAIL(call, failure);                                           \
    return PASS(call, result(*) parameters) arguments;             \
  }

WRAP(int, inotify_init1, inotify_init1, -1, (int flags), (flags))
WRAP(int, inotify_add_watch, inotify_add_watch, -1, (int fd, const char* path, uint32_t mask),
     (fd, path, mask))
WRAP(int, inotify_rm_watch, inotify_rm_watch, -1, (int fd, int wd), (fd, wd))
WRAP(ssize_t, read, read, -1, (int fd, void* into, size_t bytes), (fd, into, bytes))
WRAP(int, eventfd, eventfd, -1, (unsigned first, int flags), (first, flags))
WRAP(int, eventfd_read, eventfd_read, -1, (int fd, eventfd_t* value), (fd, value))
WRAP(int, eventfd_write, eventfd_write, -1, (int fd, eventfd_t value), (fd, value))
WRAP(int, timerfd_create, timerfd_create, -1, (clockid_t clock, int flags), (clock, flags))
WRAP(int, timerfd_settime, timerfd_settime, -1,
     (int fd, int flags, const struct itimerspec* in, struct itimerspec* before), (fd, flags, in, before))
WRAP(int, poll, poll, -1, (struct pollfd * fds, nfds_t count, int ms), (fds, count, ms))
WRAP(void*, mmap, mmap64, MAP_FAILED, (void* at, size_t bytes, int access, int flags, int fd, off64_t from),
     (at, bytes, access, flags, fd, from))
WRAP(int, munmap, munmap, -1, (void* at, size_t bytes), (at, bytes))
WRAP(int, fstatfs, fstatfs64, -1, (int fd, struct statfs64* into), (fd, into))
WRAP(ssize_t, readlinkat, readlinkat, -1, (int fd, const char* name, char* into, size_t bytes),
     (fd, name, into, bytes))
WRAP(int, chdir, chdir, -1, (const char* path), (path))
WRAP(int, fchdir, fchdir, -1, (int fd), (fd))
WRAP(int, unshare, unshare, -1, (int flags), (flags))
WRAP(int, setpriority, setpriority, -1, (int which, id_t who, int priority), (which, who, priority))
WRAP(ssize_t, write, write, -1, (int fd, const void* from, size_t bytes), (fd, from, bytes))
WRAP(int, mkdirat, mkdirat, -1, (int fd, const char* name, mode_t mode), (fd, name, mode))
WRAP(int, symlinkat, symlinkat, -1, (const char* text, int fd, const char* name), (text, fd, name))
WRAP(int, linkat, linkat, -1, (int from, const char* name, int to, const char* other, int flags),
     (from, name, to, other, flags))
WRAP(int, unlinkat, unlinkat, -1, (int fd, const char* name, int flags), (fd, name, flags))
WRAP(int, chmod, chmod, -1, (const char* path, mode_t mode), (path, mode))
WRAP(int, fchownat, fchownat, -1, (int fd, const char* name, uid_t user, gid_t group, int flags),
     (fd, name, user, group, flags))
WRAP(int, fsync, fsync, -1, (int fd), (fd))
WRAP(int, flock, flock, -1, (int fd, int operation), (fd, operation))
WRAP(int, futimens, futimens, -1, (int fd, const struct timespec times[2]), (fd, times))
WRAP(pid_t, waitpid, waitpid, -1, (pid_t pid, int* status, int options), (pid, status, options))

WRAP(int, fanotify_init, fanotify_init, -1, (unsigned flags, unsigned events), (flags, events))
WRAP(int, fanotify_mark, fanotify_mark, -1,
     (int fd, unsigned flags, uint64_t mask, int directory, const char* path),
     (fd, flags, mask, directory, path))
WRAP(int, name_to_handle_at, name_to_handle_at, -1,
     (int fd, const char* name, struct file_handle* handle, int* mount, int flags),
     (fd, name, handle, mount, flags))
WRAP(int, open_by_handle_at, open_by_handle_at, -1, (int mount, struct file_handle* handle, int flags),
     (mount, handle, flags))

// The descriptor is free after a failed close(2) too.
int close(int fd) {
  int closed = PASS(close, int (*)(int))(fd);
  FAIL(close, -1);
  return closed;
}

// This call returns the errno itself.
int posix_fadvise64(int fd, off64_t from, off64_t bytes, int advice) {
  int number = fault(CALL_posix_fadvise, __builtin_return_address(0));
  if (number != 0) return number;
  return PASS(posix_fadvise, int (*)(int, off64_t, off64_t, int))(fd, from, bytes, advice);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*main)(void*), void* argument) {
  int number = fault(CALL_pthread_create, __builtin_return_address(0));
  if (number != 0) return number;
  return PASS(pthread_create, int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))(
      thread, how, main, argument);
}

int openat64(int fd, const char* name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  FAIL(openat, -1);
  return PASS(openat, int (*)(int, const char*, int, ...))(fd, name, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  FAIL(open, -1);
  return PASS(open, int (*)(const char*, int, ...))(path, flags, mode);
}

int ioctl(int fd, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  FAIL(ioctl, -1);
  return PASS(ioctl, int (*)(int, unsigned long, ...))(fd, request, argument);
}

static int call_of(long number) {
  switch (number) {
    case SYS_statx:
      return CALL_statx;
    case SYS_newfstatat:
      return CALL_newfstatat;
    case SYS_getdents64:
      return CALL_getdents64;
    case SYS_openat2:
      return CALL_openat2;
    case SYS_renameat2:
      return CALL_renameat2;
    case SYS_fcntl:
      return CALL_fcntl;
    case SYS_pidfd_open:
      return CALL_pidfd_open;
    case SYS_pidfd_send_signal:
      return CALL_pidfd_send_signal;
    default:
      return -1;
  }
}

long syscall(long number, ...) {
  long arguments[6];
  va_list rest;
  va_start(rest, number);
  for (int i = 0; i < 6; i++) arguments[i] = va_arg(rest, long);
  va_end(rest);
  int call = call_of(number);
  int failure = call < 0 ? 0 : fault(call, __builtin_return_address(0));
  if (failure != 0) {
    errno = failure;
    return -1;
  }
  return real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                      arguments[5]);
}
