#pragma once

#include <uv.h>

#include <cstdint>

#include "base/statx.h"
#include "scan/opener.h"

// The knowledge of one walk's passes about a request's directory that is expected to change by its names only
// (kStatOnly). While its own stat is the same, one look at it is enough, but for a thorough pass now and
// then.
//
// Zeroed at first. Used by the thread that visits the directory; the walk's lock lies between two passes.
class StatOnly {
 public:
  // Returns true if one look may be enough in a pass that begins now. Times are uv_hrtime()'s.
  bool MayDo(uint64_t now) const { return listed_ >= since_ + kSettled && now - listed_ < kThorough; }

  // Returns true if the directory is unchanged, by one request to a server.
  bool Suffices(Opener* opener, const Request& request) const {
    Statx now;
    return opener->LookAt(request, cache_, &now) == 0 && IsAsBefore(now);
  }

  // It has been listed by a visit that began then and found it like this; all that was found is known.
  void Note(uint64_t began, const Statx& facts, Cache cache) {
    if (!IsAsBefore(facts)) since_ = uv_hrtime();
    facts_ = facts;
    cache_ = cache;
    listed_ = began;
  }

  // Notes that the findings are not to be relied on.
  void Forget() { listed_ = 0; }

 private:
  // Two ticks of the coarsest clock that times have (ext4's with inodes of 128 bytes: a second). Changes of
  // one tick look alike: none comes with the times that were seen so long before the listing.
  static constexpr uint64_t kSettled = 2000000000;
  // Publishers do not edit a generation in place. A listing every 10 s (in ns) finds such edits all the same.
  static constexpr uint64_t kThorough = 10000000000;

  bool IsAsBefore(const Statx& now) const {
    const Statx& then = facts_;
    return now.device == then.device && now.mount == then.mount && now.ino == then.ino &&
           now.mode == then.mode && now.uid == then.uid && now.gid == then.gid && now.nlink == then.nlink &&
           now.size == then.size && now.mtime == then.mtime && now.ctime == then.ctime;
  }

  Statx facts_;
  Cache cache_;
  // The time since when the directory has had these facts.
  uint64_t since_;
  // 0: it has not.
  uint64_t listed_;
};
