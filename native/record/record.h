#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/statx.h"
#include "record/digest.h"

// 53 bits of a number of 64, so that it is exact as JavaScript's.
inline uint64_t Fold(uint64_t number) {
  return (number ^ (number >> 53)) & ((uint64_t{1} << 53) - 1);
}

// A time as a number of JavaScript's, since the epoch.
inline double Milliseconds(uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e6;
}

enum class Kind : uint8_t { kFile, kSymlink, kOther, kDirectory };

constexpr size_t kMaxNameBytes = 255;

// One directory as JavaScript gets it: a head, its name, and its entries in two blobs, the subdirectories
// being the second. The layout is described in src/addon.ts.
class Record {
 public:
  enum Flags : uint32_t {
    kBoundary = 1,
    kLook = 2,
    kAscii = 4,
    kVanished = 8,
    kOtherDevice = 16,
    kUnchanged = 32,
  };
  static constexpr uint32_t kNoParent = UINT32_MAX;

  // Head and name, which are always to be had.
  uint32_t parent;
  int32_t wd;
  int32_t error;
  uint32_t flags;
  Statx facts;
  // The place of its discovery (kCompare): its directory, and the ones above that, by name and inode.
  Digest place;
  // The digest of its place and of all that JavaScript is told of it. None: the findings are not to be relied
  // on, and have to be told again the next time.
  Digest digest;
  // True: JavaScript needs to be told nothing of it again.
  bool is_known;

  // Empties it for the next directory. The name is copied.
  void Begin(const char* name);

  // Adds an entry, with its stat block if there is one, and what stands for what it holds. Without memory for
  // it the record ends up without any entries, with an error; one whose name is too long is left out, with an
  // error.
  void Add(Kind kind, uint64_t ino, const char* name, const Statx* stat, const Digest* content = nullptr);

  // Call after the last entry: the record is complete only then.
  void Finish();

  // After it: makes place and digest, in a directory (or for a request) with the place `above`.
  void Sum(const Digest& above);

  size_t bytes() const { return size_; }
  void CopyTo(uint8_t* to, uint32_t id) const;

  // Only that it is there, and as it was: what has changed lies below.
  void MakeStub(const char* name, const Statx& of, uint64_t root);

  // -ENOMEM in place of the entries. Returns how many bytes are left.
  size_t DropEntries();

  const char* name() const { return name_; }
  size_t name_bytes() const { return name_bytes_; }
  // Entries as in the record, to be read by Subdirectory.
  const Bytes& subdirectories() const { return subdirectories_.blob; }
  uint32_t subdirectory_count() const { return subdirectories_.count; }

 private:
  struct Entries {
    Bytes blob;
    uint32_t count;
    void Clear() {
      blob.Clear();
      count = 0;
    }
  };

  bool IsReliable() const;

  Entries files_;
  Entries subdirectories_;
  size_t name_bytes_;
  size_t size_;
  char name_[kMaxNameBytes + 1];
};

// An entry of a blob.
struct PackedEntry {
  const char* name;
  size_t name_bytes;
  const uint8_t* next;

  explicit PackedEntry(const uint8_t* at);
};
