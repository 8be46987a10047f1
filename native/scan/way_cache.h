#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/statx.h"
#include "base/unique_fd.h"
#include "scan/requests.h"

// The facts about a directory that the way to it tells.
struct Origin {
  Device root_device;
  Cache cache = Cache::kTrue;
  // True: `cache` is known beforehand, as the question for the file system is itself a request to its server.
  bool knows_cache = false;
  bool may_be_stale() const { return cache != Cache::kTrue; }
};

// A directory on the way of a request, above the last name of it.
struct WayStep {
  // The request's root and the first `names` names of its way, each with a NUL behind it.
  char* path = nullptr;
  size_t path_bytes = 0;
  size_t names = 0;
  uint32_t flags = 0;
  // O_PATH; -1: none.
  int fd = -1;
  Origin origin;
  Statx facts;
  uint32_t users = 0;
  uint64_t last_use = 0;
};

// Descriptors of the directories that requests have come by, least recently used first to go: the next
// request's way may begin with one of them. Requests for each level of a deep tree, opened from its root,
// would open as many directories as the square of its depth.
//
// A directory that is renamed meanwhile is gone on from where it is: a walk finds what a recursive one finds,
// which holds the directories open that it is in. They keep a mount busy; so they are closed when a pass is
// over, unless the caller has more walks to make (Hold).
//
// Belongs to a walker and to its walks: see Walk.
class WayCache {
 public:
  WayCache() { pthread_mutex_init(&lock_, nullptr); }
  WayCache(const WayCache&) = delete;
  WayCache& operator=(const WayCache&) = delete;

  WayCache* Share() {
    references_.fetch_add(1);
    return this;
  }
  void Drop() {
    if (references_.fetch_sub(1) == 1) delete this;
  }

  // The deepest directory of the request's way that is open. Not to be closed before Unpin. Null: none is.
  WayStep* PinDeepest(const Request& request);
  // Takes the descriptor of the directory that so many names of the way lead to, and pins it. Null: it is not
  // kept, and the descriptor is still the caller's.
  WayStep* KeepPinned(const Request& request, size_t names, const char* end, UniqueFd* fd,
                      const Origin& origin, const Statx& facts);
  void Unpin(WayStep* step);

  // Closes what nobody uses just now, as a process that has no descriptors left needs. False: nothing was.
  bool GiveBack();

  void BeginWalk(size_t requests);
  void EndPass();

  // Loop's thread: the directories stay open from one walk to the next until Release.
  void Hold();
  void Release();

 private:
  // Several chains of directories may be gone down in turn.
  static constexpr size_t kMost = 64;
  // Going up a deep tree, each so many levels are gone down again from its root.
  static constexpr size_t kOfOneWay = 32;

  ~WayCache();
  WayStep* SlotForOne();

  std::atomic<int> references_{1};
  pthread_mutex_t lock_;
  // All from here on under the lock.
  WayStep steps_[kMost];
  uint64_t uses_ = 0;
  bool is_held_ = false;
  // True: another request could go on from the kept descriptors.
  bool is_of_use_ = false;
};
