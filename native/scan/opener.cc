#include "scan/opener.h"

#include <errno.h>
#include <fcntl.h>

#include <cstdlib>
#include <cstring>

#include "base/locked.h"
#include "record/record.h"

namespace {

bool HasNoDescriptors(int error) {
  return error == -EMFILE || error == -ENFILE;
}

bool IsSame(const Statx& one, const Statx& other) {
  return one.ino == other.ino && one.device == other.device;
}

}  // namespace

Opener::Descent::~Descent() {
  free(line);
}

int Opener::Open(int directory, const char* name, int flags) {
  for (;;) {
    int fd = OpenAt(directory, name, flags);
    if (!HasNoDescriptors(fd)) return fd;
    if (ways_->GiveBack()) continue;
    Locked locked(lock_);
    if (!walk_queue_->GiveBack()) return fd;
  }
}

int Opener::OpenJob(const Job& job, Origin* origin, Statx* facts) {
  if (job.parent == nullptr) return OpenRequest((*requests_)[job.request], origin, facts);
  origin->root_device = job.parent->root_device;
  origin->cache = job.parent->cache;
  UniqueFd own;
  int parent = job.parent_fd >= 0 ? job.parent_fd : Reopen(job.parent, &own);
  return parent < 0 ? parent : OpenChild(parent, job.name, *origin, facts);
}

int Opener::LookAt(const Request& request, Cache cache, Statx* facts) {
  Origin origin;
  origin.cache = cache;
  origin.knows_cache = true;
  UniqueFd fd(OpenRequest(request, &origin, facts));
  return fd.is_open() ? 0 : fd.get();
}

// Without O_DIRECTORY, which would have autofs mount what is only listed: so the kind is looked at here.
int Opener::OpenChild(int parent, const char* name, const Origin& origin, Statx* facts) {
  UniqueFd fd(Open(parent, name, O_PATH | O_NOFOLLOW));
  if (!fd.is_open()) return fd.get();
  int error = StatAt(fd.get(), "", facts, origin.may_be_stale());
  if (error < 0) return error;
  return facts->is_directory() ? fd.release() : -ENOTDIR;
}

int Opener::OpenRequest(const Request& request, Origin* origin, Statx* facts) {
  bool looks = request.has(Request::kStat | Request::kLook) && !origin->knows_cache;
  // A directory that is looked at again and again may have another on its way each time.
  WayCache* ways = origin->knows_cache ? nullptr : ways_;
  Stage stage(ways, ways != nullptr ? ways->PinDeepest(request) : nullptr);
  size_t level = 0;
  const char* name = request.way;
  if (stage.kept != nullptr) {
    *origin = stage.kept->origin;
    *facts = stage.kept->facts;
    level = stage.kept->names;
    name = request.root + stage.kept->path_bytes;
  } else {
    stage.own.reset(OpenRoot(request, origin, facts));
    if (!stage.own.is_open()) return stage.own.get();
  }
  while (level < request.way_names) {
    int parent = stage.fd();
    if (origin->may_be_stale()) LookUpAgain(parent, name);
    Statx before = *facts;
    int error;
    bool last = ++level == request.way_names;
    if (last && request.has(Request::kInParent)) {
      // Another directory may have its path by now, and in it another with this name. Not ESTALE, which is a
      // server's word.
      if ((error = StatAt(parent, "", facts)) < 0) return error;
      if (Fold(facts->ino) != request.parent_ino) return -ENOENT;
    }
    UniqueFd next(last ? OpenChild(parent, name, *origin, facts)
                       : Open(parent, name, O_PATH | O_NOFOLLOW | O_DIRECTORY));
    if (!next.is_open()) return next.get();
    if (looks) {
      if (!last && (error = StatAt(next.get(), "", facts)) < 0) return error;
      if (facts->across_a_mount_from(before)) origin->cache = CacheOf(next.get());
    }
    name += strlen(name) + 1;
    stage.MoveTo(&next);
    if (!last && ways != nullptr)
      stage.kept = ways->KeepPinned(request, level, name, &stage.own, *origin, *facts);
  }
  return stage.own.release();
}

int Opener::OpenRoot(const Request& request, Origin* origin, Statx* facts) {
  UniqueFd fd(Open(AT_FDCWD, request.root,
                   O_PATH | O_DIRECTORY | (request.has(Request::kNoFollowRoot) ? O_NOFOLLOW : 0)));
  if (!fd.is_open()) return fd.get();
  bool looks = request.has(Request::kStat | Request::kLook) && !origin->knows_cache;
  if (looks) origin->cache = CacheOf(fd.get());
  int error = StatAt(fd.get(), "", facts, origin->may_be_stale());
  if (error < 0) return error;
  origin->root_device = facts->device;
  return fd.release();
}

void Opener::Stage::MoveTo(UniqueFd* next) {
  Leave();
  own.reset(next->release());
}

void Opener::Stage::Leave() {
  if (kept != nullptr) ways->Unpin(kept);
  kept = nullptr;
}

// A directory whose descriptor was given back, from its nearest ancestor that has one. Either the node has
// it then, or `own`.
int Opener::Reopen(Node* node, UniqueFd* own) {
  Descent descent = {};
  Node* nearest;
  {
    Locked locked(lock_);
    nearest = walk_queue_->PinNearest(node, &descent.length);
  }
  // Another thread may have opened it meanwhile.
  int fd = nearest == node ? node->fd : -ENOMEM;
  if (nearest != node) {
    descent.line = static_cast<Node**>(malloc(descent.length * sizeof(Node*)));
    for (size_t i = descent.length; descent.line != nullptr && i > 0; node = node->parent)
      descent.line[--i] = node;
    if (descent.line != nullptr) fd = GoDown(&descent, nearest);
    if (fd >= 0) fd = KeepForTheirTurn(&descent, own);
  }
  Locked locked(lock_);
  if (nearest != nullptr) walk_queue_->Unpin(nearest);
  return fd;
}

int Opener::GoDown(Descent* descent, Node* from) {
  size_t index = 0;
  int fd;
  if (from != nullptr) {
    fd = from->fd;
  } else {
    Origin origin;
    Statx facts;
    fd = OpenRequest((*requests_)[descent->line[0]->request], &origin, &facts);
    if (fd < 0) return fd;
    descent->fd(index++).reset(fd);
  }
  for (; index < descent->length; index++) {
    fd = OpenBelow(descent, index, fd);
    if (fd < 0) return fd;
    descent->fd(index).reset(fd);
  }
  return fd;
}

int Opener::OpenBelow(Descent* descent, size_t index, int parent) {
  constexpr int kFlags = O_PATH | O_NOFOLLOW | O_DIRECTORY;
  const char* name = descent->line[index]->name();
  int fd = Open(parent, name, kFlags);
  if (!HasNoDescriptors(fd)) return fd;
  for (UniqueFd& kept : descent->fds) {
    if (kept.get() != parent) kept.reset();
  }
  return Open(parent, name, kFlags);
}

// Something else may be found by now where they were: then it is not what was listed.
int Opener::KeepForTheirTurn(Descent* descent, UniqueFd* own) {
  size_t last = descent->length - 1;
  for (size_t i = last + 1 > kKept ? last + 1 - kKept : 0; i <= last; i++) {
    UniqueFd& fd = descent->fd(i);
    Statx facts;
    if (fd.is_open() && (StatAt(fd.get(), "", &facts) < 0 || !IsSame(facts, descent->line[i]->facts)))
      fd.reset();
  }
  UniqueFd& wanted = descent->fd(last);
  if (!wanted.is_open()) return -ENOENT;
  int fd = wanted.get();
  Locked locked(lock_);
  // From the root down: the last kept is the last to be given back.
  for (size_t i = last + 1 > kKept ? last + 1 - kKept : 0; i <= last; i++) {
    UniqueFd& kept = descent->fd(i);
    if (kept.is_open() && walk_queue_->Keep(descent->line[i], kept.get())) kept.release();
  }
  if (wanted.is_open()) own->reset(wanted.release());
  return fd;
}
