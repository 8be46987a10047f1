#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

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
  bool IsWellFormed() const {
    Entry entry;
    size_t at = 0;
    while (Next(&at, &entry)) continue;
    return bytes_ > 0 && at == bytes_;
  }

  // Returns the index of the first probe that differs, or that cannot be looked at; -1 if none does.
  int64_t Look() const {
    Entry entry;
    int64_t index = 0;
    for (size_t at = 0; Next(&at, &entry); index++)
      if (Differs(entry)) return index;
    return -1;
  }

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
  bool Next(size_t* at, Entry* entry) const {
    if (bytes_ - *at < kHead) return false;
    const uint8_t* from = packed_ + *at;
    int32_t directory;
    uint32_t flags, name_bytes;
    memcpy(&directory, from, sizeof directory);
    memcpy(&flags, from + 4, sizeof flags);
    memcpy(&name_bytes, from + kHead - 4, sizeof name_bytes);
    size_t size = (kHead + static_cast<size_t>(name_bytes) + 7) / 8 * 8;
    if (name_bytes == 0 || bytes_ - *at < size || from[kHead + name_bytes - 1] != '\0') return false;
    *entry = {directory, (flags & kMayBeStale) != 0, from + 8, reinterpret_cast<const char*>(from + kHead)};
    *at += size;
    return true;
  }

  static bool Differs(const Entry& entry) {
    if (entry.may_be_stale && *entry.name != '\0') LookUpAgain(entry.directory, entry.name);
    Statx now;
    if (StatAt(entry.directory, entry.name, &now, true) < 0) return true;
    const uint64_t fields[kFields] = {now.ino,  now.mode,  now.uid,   now.gid,
                                      now.size, now.mtime, now.ctime, now.nlink};
    return memcmp(fields, entry.key, sizeof fields) != 0;
  }

  const uint8_t* packed_;
  size_t bytes_;
};
