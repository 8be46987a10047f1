#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>

// Older headers do not have it.
#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000U
#endif

// The answer of statx(2) about a directory or an entry. Times in ns since the epoch, modulo 2^64.
struct Statx {
  // The major number in the upper half, the minor one in the lower.
  uint64_t device = 0;
  uint32_t mode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t nlink = 0;
  uint64_t ino = 0;
  uint64_t size = 0;
  uint64_t mtime = 0;
  uint64_t ctime = 0;
  // 0 where the file system has none.
  uint64_t btime = 0;
  // 0 where the kernel (before 5.8) does not say.
  uint64_t mount = 0;

  bool is_file() const { return (mode & 0170000) == 0100000; }
  bool is_symlink() const { return (mode & 0170000) == 0120000; }
  bool is_directory() const { return (mode & 0170000) == 0040000; }
  bool is_inode_of(const Statx& other) const { return ino == other.ino && device == other.device; }
  // On another mount than that of `other`, as far as the kernel says.
  bool across_a_mount_from(const Statx& other) const {
    return mount != 0 && other.mount != 0 ? mount != other.mount : device != other.device;
  }
};

// statx(2), or where that is refused fstatat(2), which leaves out of stx_mask what it does not know. 0 or
// -errno.
int AskStatx(int directory, const char* name, int flags, unsigned mask, struct statx* found);

// System calls on names beneath a directory that is held open. Each gives 0 (or a descriptor) or -errno.

// CLOEXEC is added. `resolve`: openat2(2)'s, which is of Linux 5.6, and unknown to some seccomp filters.
int OpenAt(int directory, const char* name, int flags, uint64_t resolve = 0);

// Whom to believe of what lies on a filesystem: what this kernel has cached of it may have been outdated by
// another machine, or by a server.
enum class Cache : uint8_t {
  // It is what is there.
  kTrue,
  // Names: what they are looked up as anew comes with the attributes.
  kNames,
  // Names, and attributes that are asked for of themselves.
  kNamesAndAttributes,
};

// Stats an entry, without following a symlink or mounting anything; with an empty name the directory itself.
// `anew`: asks the server, whatever is cached.
int StatAt(int directory, const char* name, Statx* facts, bool anew = false);

Cache CacheOf(int fd);

// Has the file system look up a name anew.
void LookUpAgain(int directory, const char* name);
