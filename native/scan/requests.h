#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

// A request for a walk, as src/watch/scan/walk_request.ts packs it.
struct Request {
  enum Flags : uint32_t {
    kRecursive = 1,
    kWatch = 2,
    kStat = 4,
    kLook = 8,
    kNoFollowRoot = 16,
    kInParent = 32,
    kCompare = 64,
    kHash = 128,
    kStatOnly = 256,
    kSince = 512,
  };

  bool has(uint32_t flag) const { return (flags & flag) != 0; }

  uint32_t flags;
  // Absolute. Symlinks in it are followed.
  const char* root;
  // The way from the root, each name with a NUL behind it. No symlink on it is followed.
  const char* way;
  size_t way_names;
  // The inode of the last name's directory, folded as a Record's (kInParent).
  uint64_t parent_ino;
  // Entries changed before this time get no stat block (kSince): ms since the epoch, otherwise 0.
  double since;
  // The names to look for (kLook), likewise.
  const char* names;
  size_t name_count;
  // The bytes of the path of its directory: root and way.
  size_t path_bytes;
};

class Requests {
 public:
  Requests() = default;
  ~Requests() {
    free(requests_);
    free(sorted_);
  }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  // 0; -EINVAL, also for a name that is none (empty beside others, '.', '..', with a NUL); -ENOMEM.
  int Parse(const uint8_t* packed, size_t bytes);

  size_t count() const { return count_; }
  const Request& operator[](size_t index) const { return requests_[index]; }

  // The index of the nth by its path: a directory comes before those in it, so that each goes on from where
  // the ones before have come by, in whichever order they were asked for (a tree's levels from below).
  size_t ByPath(size_t nth) const { return static_cast<size_t>(sorted_[nth] - requests_); }

 private:
  Bytes text_;
  Request* requests_ = nullptr;
  const Request** sorted_ = nullptr;
  size_t count_ = 0;
};
