#pragma once

#include <errno.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/bytes.h"

// A system call that JavaScript asks for (NativeCalls in src/addon.ts), and what came of it.
struct Call {
  enum class Kind : uint32_t {
    kOpen,
    kOpenBeneath,
    kOpenRegular,
    kClose,
    kStat,
    kFileSystem,
    kReadlink,
    kNames,
    kLookUpAgain,
    kRead,
    kWrite,
    kMakeDirectory,
    kSymlink,
    kLink,
    kRename,
    kUnlink,
    kChangeMode,
    kChangeOwner,
    kSync,
    kLock,
    kCopyTimes,
    kAwaitChange,
  };
  static constexpr uint32_t kKinds = static_cast<uint32_t>(Kind::kAwaitChange) + 1;

  // The most bytes of one kRead or kOpenRegular.
  static constexpr int64_t kLongestRead = 64 * 1024 * 1024;

  Call() = default;
  ~Call() {
    for (char* text : texts) free(text);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  int number(int index) const { return static_cast<int>(numbers[index]); }

  // Returns true if the name is to be looked up anew before the call.
  bool may_be_stale() const {
    bool can_be = kind == Kind::kOpenBeneath || kind == Kind::kOpenRegular || kind == Kind::kStat ||
                  kind == Kind::kReadlink;
    return can_be && numbers[2] != 0;
  }
  bool gives_descriptor() const {
    return kind == Kind::kOpen || kind == Kind::kOpenBeneath || kind == Kind::kOpenRegular;
  }

  Call* next = nullptr;
  // 0: nobody waits for what comes of it.
  uint32_t id = 0;
  Kind kind = Kind::kOpen;
  // The numbers that the kind defines: descriptors, flags, sizes.
  int64_t numbers[3] = {};
  // Names, zero-terminated; or bytes.
  char* texts[2] = {nullptr, nullptr};
  size_t lengths[2] = {0, 0};

  // >= 0, or -errno.
  int64_t result = -ECANCELED;
  // The bytes that were read.
  Bytes data;
};

// Makes the system call and leaves in it what came of it. Not kAwaitChange, which is the thread's own
// (stat_watch.h).
void Perform(Call* call);
