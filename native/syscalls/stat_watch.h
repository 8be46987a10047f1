#pragma once

#include <cstddef>
#include <cstdint>

#include "base/statx.h"

// Looks at entries again and again until one differs from its last known stat, without a word to JavaScript
// meanwhile.
//
// Packed one after another, each a multiple of 8 bytes, numbers little-endian:
//
//     i32 directory, u32 flags    1 MAY_BE_STALE (the name is looked up anew)
//     u64 ino, mode, uid, gid, size, mtime, ctime, nlink
//     u32 nameBytes, name, padding: without a name the descriptor itself
class StatWatch {
 public:
  StatWatch(const uint8_t* packed, size_t bytes) : packed_(packed), bytes_(bytes) {}

  // Returns true if the packed probes can be read at all.
  bool IsWellFormed() const;

  // Returns the index of the first probe that differs, or that cannot be looked at; -1 if none does.

  int64_t Look() const;

 private:
  struct Entry {
    int directory;
    bool may_be_stale;
    const uint8_t* key;
    const char* name;
  };
  static constexpr uint32_t kMayBeStale = 1;
  static constexpr size_t kFields = 8;
  static constexpr size_t kHead = 8 + kFields * 8 + 4;

  // Reads one and goes on to the next: false at the end, or where it makes no sense.
  bool Next(size_t* at, Entry* entry) const;
  static bool Differs(const Entry& entry);

  const uint8_t* packed_;
  size_t bytes_;
};
