#include "scan/way_cache.h"

#include <cstdlib>
#include <cstring>

#include "base/locked.h"

namespace {

// By what directories differ that are opened by the same path: whether a symlink in the root's place was
// followed, and whether it is known how what lies in them is cached.
uint32_t FlagsOf(const Request& request) {
  bool looks = request.has(Request::kStat | Request::kLook);
  return (request.flags & Request::kNoFollowRoot) | (looks ? uint32_t{Request::kLook} : 0);
}

bool LiesOnWay(const WayStep& step, const Request& request) {
  // Shorter: the directory of the last name, behind which no NUL is counted, is opened for the request
  // itself.
  return step.fd >= 0 && step.path_bytes <= request.path_bytes && step.flags == FlagsOf(request) &&
         memcmp(step.path, request.root, step.path_bytes) == 0;
}

// Returns its descriptor, to be closed.
int Empty(WayStep* step) {
  int fd = step->fd;
  free(step->path);
  *step = WayStep();
  return fd;
}

}  // namespace

WayCache::~WayCache() {
  for (WayStep& step : steps_) UniqueFd(Empty(&step));
  pthread_mutex_destroy(&lock_);
}

WayStep* WayCache::PinDeepest(const Request& request) {
  Locked locked(&lock_);
  WayStep* deepest = nullptr;
  for (WayStep& step : steps_) {
    if ((deepest == nullptr || step.names > deepest->names) && LiesOnWay(step, request)) deepest = &step;
  }
  if (deepest == nullptr) return nullptr;
  deepest->users++;
  deepest->last_use = ++uses_;
  return deepest;
}

WayStep* WayCache::KeepPinned(const Request& request, size_t names, const char* end, UniqueFd* fd,
                              const Origin& origin, const Statx& facts) {
  if (request.way_names - names > kOfOneWay) return nullptr;
  size_t path_bytes = static_cast<size_t>(end - request.root);
  // Closed when the lock is given up: the loop may wait for it.
  UniqueFd oldest;
  Locked locked(&lock_);
  WayStep* step = is_of_use_ ? SlotForOne() : nullptr;
  char* path = step != nullptr ? static_cast<char*>(malloc(path_bytes)) : nullptr;
  if (path == nullptr) return nullptr;
  oldest.reset(Empty(step));
  memcpy(path, request.root, path_bytes);
  step->path = path;
  step->path_bytes = path_bytes;
  step->names = names;
  step->flags = FlagsOf(request);
  step->fd = fd->release();
  step->origin = origin;
  step->facts = facts;
  step->users = 1;
  step->last_use = ++uses_;
  return step;
}

// Each thread uses one at the most: there is always another.
WayStep* WayCache::SlotForOne() {
  WayStep* oldest = nullptr;
  for (WayStep& step : steps_) {
    if (step.users == 0 && (oldest == nullptr || step.last_use < oldest->last_use)) oldest = &step;
  }
  return oldest;
}

void WayCache::Unpin(WayStep* step) {
  Locked locked(&lock_);
  step->users--;
}

bool WayCache::GiveBack() {
  UniqueFd closed[kMost];
  Locked locked(&lock_);
  bool any = false;
  for (size_t i = 0; i < kMost; i++) {
    if (steps_[i].users > 0 || steps_[i].fd < 0) continue;
    closed[i].reset(Empty(&steps_[i]));
    any = true;
  }
  return any;
}

void WayCache::BeginWalk(size_t requests) {
  Locked locked(&lock_);
  is_of_use_ = is_held_ || requests > 1;
}

void WayCache::EndPass() {
  {
    Locked locked(&lock_);
    if (is_held_) return;
  }
  GiveBack();
}

void WayCache::Hold() {
  Locked locked(&lock_);
  is_held_ = true;
}

void WayCache::Release() {
  {
    Locked locked(&lock_);
    is_held_ = false;
  }
  GiveBack();
}
