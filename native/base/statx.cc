#include "base/statx.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/retry.h"

namespace {

uint64_t Nanoseconds(const statx_timestamp& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

statx_timestamp TimeOf(const timespec& time) {
  statx_timestamp same = {};
  same.tv_sec = time.tv_sec;
  same.tv_nsec = static_cast<uint32_t>(time.tv_nsec);
  return same;
}

// Takes over an answer of fstatat(2), which has no time of birth and no mount.
void Translate(const struct stat& from, struct statx* to) {
  *to = {};
  to->stx_mask = STATX_BASIC_STATS;
  // As the kernel's new_encode_dev() has packed it.
  to->stx_dev_major = static_cast<uint32_t>(from.st_dev >> 8 & 0xfff);
  to->stx_dev_minor = static_cast<uint32_t>((from.st_dev & 0xff) | (from.st_dev >> 12 & 0xfff00));
  to->stx_mode = static_cast<uint16_t>(from.st_mode);
  to->stx_uid = from.st_uid;
  to->stx_gid = from.st_gid;
  to->stx_nlink = static_cast<uint32_t>(from.st_nlink);
  to->stx_ino = from.st_ino;
  to->stx_size = static_cast<uint64_t>(from.st_size);
  to->stx_atime = TimeOf(from.st_atim);
  to->stx_mtime = TimeOf(from.st_mtim);
  to->stx_ctime = TimeOf(from.st_ctim);
}

}  // namespace

int AskStatx(int directory, const char* name, int flags, unsigned mask, struct statx* found) {
  // The raw calls: glibc's statx() and fstatat() would demand a newer glibc than the rest of the addon.
  int64_t error = Retry([&] { return syscall(SYS_statx, directory, name, flags, mask, found); });
  // Seccomp profiles older than statx(2) refuse it (Docker before 18.04: EPERM), so do emulators of its time
  // (ENOSYS). Where the kernel itself refuses, it refuses fstatat(2) as well.
  if (error != -EPERM && error != -ENOSYS && error != -EOPNOTSUPP) return static_cast<int>(error);
  struct stat older;
  error = Retry([&] { return syscall(SYS_newfstatat, directory, name, &older, flags); });
  if (error == 0) Translate(older, found);
  return static_cast<int>(error);
}

int OpenAt(int directory, const char* name, int flags, uint64_t resolve) {
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.resolve = resolve;
  return static_cast<int>(Retry([&] {
    return resolve == 0 ? openat(directory, name, flags | O_CLOEXEC)
                        : syscall(SYS_openat2, directory, name, &how, sizeof how);
  }));
}

int StatAt(int directory, const char* name, Statx* facts, bool anew) {
  int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (anew ? AT_STATX_FORCE_SYNC : 0);
  if (*name == '\0') flags |= AT_EMPTY_PATH;
  constexpr unsigned kMask = STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID;
  struct statx found;
  int error = AskStatx(directory, name, flags, kMask, &found);
  if (error < 0) return error;
  facts->device = uint64_t{found.stx_dev_major} << 32 | found.stx_dev_minor;
  facts->mode = found.stx_mode;
  facts->uid = found.stx_uid;
  facts->gid = found.stx_gid;
  facts->nlink = found.stx_nlink;
  facts->ino = found.stx_ino;
  facts->size = found.stx_size;
  facts->mtime = Nanoseconds(found.stx_mtime);
  facts->ctime = Nanoseconds(found.stx_ctime);
  facts->btime = (found.stx_mask & STATX_BTIME) != 0 ? Nanoseconds(found.stx_btime) : 0;
  facts->mount = (found.stx_mask & STATX_MNT_ID) != 0 ? found.stx_mnt_id : 0;
  return 0;
}

Cache CacheOf(int fd) {
  struct statfs found;
  if (Retry([&] { return fstatfs(fd, &found); }) < 0) return Cache::kNamesAndAttributes;
  switch (static_cast<uint32_t>(found.f_type)) {
    // Changed by this kernel alone. 9p may be among them, for it gives its host's number: there either every
    // stat asks the host (cache=none, mmap), or none does, whatever is asked for (loose; measured).
    case 0xef53:      // ext2, ext3, ext4
    case 0x01021994:  // tmpfs
    case 0x858458f6:  // ramfs
    case 0x58465342:  // xfs
    case 0x9123683e:  // btrfs
      return Cache::kTrue;
    case 0x65735546:  // FUSE, virtiofs: FUSE_LOOKUP answers with the attributes, a second request is spared
      return Cache::kNames;
    default:
      return Cache::kNamesAndAttributes;
  }
}

void LookUpAgain(int directory, const char* name) {
  // Always fails (EEXIST, EXDEV, EROFS or EPERM) and changes nothing, but a name about to be created must
  // first be looked up past the dentry cache, which may be a second old, or for ever in virtiofs's
  // cache=always.
  linkat(AT_FDCWD, "/proc/version", directory, name, 0);
}
