#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "base/fd_path.h"
#include "base/retry.h"

// getdents64(2)'s record, which musl's headers no longer have.
struct ListedEntry {
  uint64_t ino;
  int64_t position;
  uint16_t bytes;
  uint8_t type;
  char name[1];

  bool is_self_or_parent() const {
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
  }
};

// The entries in what one getdents64(2) has brought, but for '.' and '..'. Not every kernel is Linux
// (gVisor), and what stands in for a system call (a tracer, a seccomp agent) may be wrong: what is no record
// is never read beyond its end, nor for ever.
class ListedEntries {
 public:
  // As aligned as a record.
  ListedEntries(const void* records, size_t bytes)
      : next_(static_cast<const char*>(records)), end_(next_ + bytes) {}

  // Null: there are no more, or what follows is no record.
  const ListedEntry* Next() {
    while (const ListedEntry* entry = Take())
      if (!entry->is_self_or_parent()) return entry;
    return nullptr;
  }

  // After the last: whether it was the last.
  bool at_end() const { return next_ == end_; }

 private:
  static constexpr size_t kNameAt = offsetof(ListedEntry, name);

  const ListedEntry* Take() {
    auto left = static_cast<size_t>(end_ - next_);
    if (left < sizeof(ListedEntry)) return nullptr;
    const auto* entry = reinterpret_cast<const ListedEntry*>(next_);
    size_t bytes = entry->bytes;
    if (bytes < sizeof(ListedEntry) || bytes > left || bytes % alignof(ListedEntry) != 0) return nullptr;
    // The NUL behind the name lies in the last eight bytes, which begin behind kNameAt in all but the
    // shortest.
    size_t tail = bytes - sizeof(uint64_t) > kNameAt ? bytes - sizeof(uint64_t) : kNameAt;
    while (tail < bytes && next_[tail] != '\0') tail++;
    if (tail == bytes) return nullptr;
    next_ += bytes;
    return entry;
  }

  const char* next_;
  const char* end_;
};

// Opens a directory that is held by a descriptor, to be listed. `open` is OpenAt, or the like.
template <typename Open>
int OpenToList(int directory, bool may_be_stale, Open open) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
  int fd = open(directory, ".", kFlags);
  // To find '.' takes the permission to search, to list a directory that of reading alone.
  if (fd == -EACCES) fd = open(AT_FDCWD, FdPath(directory).c_str(), kFlags);
  // NFS goes on showing the listing that it has in its page cache until the directory's change attribute
  // differs, and a server without a counter gives a time for that: for ever, of two changes at one time.
  if (fd >= 0 && may_be_stale) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  return fd;
}

// Lists a directory by way of `room`, until `take` returns something else than 0 for an entry: returns that,
// 0 at the end of the directory, or -errno.
template <typename Take>
int64_t ForEachEntry(int directory, void* room, size_t room_bytes, Take take) {
  for (;;) {
    int64_t bytes = Retry([&] { return syscall(SYS_getdents64, directory, room, room_bytes); });
    if (bytes <= 0) return bytes;
    ListedEntries entries(room, static_cast<size_t>(bytes));
    while (const ListedEntry* entry = entries.Next())
      if (int64_t ended = take(*entry)) return ended;
    // As Linux says it of a name that is none.
    if (!entries.at_end()) return -EIO;
  }
}
