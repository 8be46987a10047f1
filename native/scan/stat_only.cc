#include "scan/stat_only.h"

#include <uv.h>

namespace {

bool IsAsBefore(const Statx& a, const Statx& b) {
  return a.device == b.device && a.mount == b.mount && a.ino == b.ino && a.mode == b.mode && a.uid == b.uid &&
         a.gid == b.gid && a.nlink == b.nlink && a.size == b.size && a.mtime == b.mtime && a.ctime == b.ctime;
}

}  // namespace

bool StatOnly::Suffices(Opener* opener, const Request& request) const {
  Statx now;
  return opener->LookAt(request, cache_, &now) == 0 && IsAsBefore(now, facts_);
}

void StatOnly::Note(uint64_t began, const Statx& facts, Cache cache) {
  if (!IsAsBefore(facts, facts_)) since_ = uv_hrtime();
  facts_ = facts;
  cache_ = cache;
  listed_ = began;
}
