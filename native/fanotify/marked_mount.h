#pragma once

#include <fcntl.h>
#include <limits.h>

#include <cstdint>
#include <cstring>

#include "base/unique_fd.h"

// The directory of an event, as the kernel names it: two that are equal, byte for byte, are the same one.
struct FanDirectory {
  int32_t file_system[2];
  // Has a length of its own.
  file_handle handle;

  size_t size() const { return sizeof(FanDirectory) + handle.handle_bytes; }
};

// A mount whose file system is marked, and the paths of directories as that mount shows them. It is held open
// during a read of events alone: else nobody could unmount it.
class MarkedMount {
 public:
  // Takes the path of a directory on the mount, at best where it is mounted.
  explicit MarkedMount(const char* path) { strncpy(path_, path, sizeof path_ - 1); }

  // Has a fanotify instance tell of the whole file system. 0 or -errno: EPERM also where no handle may be
  // opened, without which no event has a path.
  int Mark(int fanotify);

  bool is_same(const MarkedMount& other) const { return id_ == other.id_ || strcmp(path_, other.path_) == 0; }

  // The path that leads to a directory now. Null: it is gone, on another file system, or not to be reached
  // through this mount.
  const char* Find(const FanDirectory& directory);

  // Ends a read, before what it gave is overwritten.
  void Release();

 private:
  int Open(int32_t file_system[2]);
  bool Resolve(const FanDirectory& directory);

  int32_t file_system_[2];
  int id_;
  UniqueFd fd_;
  // Consecutive events are mostly of one directory.
  const FanDirectory* last_ = nullptr;
  bool is_found_ = false;
  char path_[PATH_MAX + 4] = {};
  char found_[PATH_MAX];
};
