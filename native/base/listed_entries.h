#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

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
    if (memchr(next_ + tail, '\0', bytes - tail) == nullptr) return nullptr;
    next_ += bytes;
    return entry;
  }

  const char* next_;
  const char* end_;
};
