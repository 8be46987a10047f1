#include "scan/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>

#include <cstring>

#include "record/record.h"
#include "threads/locked.h"

namespace {

constexpr int kOnTheWay = O_PATH | O_NOFOLLOW | O_DIRECTORY;

const char* After(const char* name) {
  return name + strlen(name) + 1;
}

bool Looks(const Request& request) {
  return request.has(Request::kStat | Request::kLook);
}

// True if both open the root alike.
bool HasRootOf(const Request& one, const Request& other) {
  return Looks(one) == Looks(other) && one.has(Request::kNoFollowRoot) == other.has(Request::kNoFollowRoot) &&
         strcmp(one.root, other.root) == 0;
}

// The number of directories below the root that both ways lead through.
size_t CommonNames(const Request& one, const Request& other) {
  size_t common = 0;
  const char* a = one.way;
  const char* b = other.way;
  for (; common + 1 < one.way_names && common + 1 < other.way_names && strcmp(a, b) == 0; common++)
    a = After(a), b = After(b);
  return common;
}

// Another mount lies between; or the kernel has no openat2(2) (before 5.6), or a seccomp filter refuses it.
// ELOOP: the error is to be that of a single name.
bool IsToBeOpenedOneByOne(int error) {
  return error == -EXDEV || error == -ENOSYS || error == -EPERM || error == -ELOOP;
}

}  // namespace

int Opener::Open(int directory, const char* path, int flags, uint64_t resolve) {
  for (;;) {
    const int fd = OpenAt(directory, path, flags, resolve);
    if (fd != -EMFILE && fd != -ENFILE) return fd;
    if (parent_.fd.is_open() && parent_.fd.get() != directory) {
      ForgetParent();
      continue;
    }
    Locked locked(lock_);
    if (!walk_queue_->GiveBack()) return fd;
  }
}

int Opener::OpenJob(const Job& job, Origin* origin, Statx* facts) {
  if (job.parent == nullptr) return OpenRequest((*requests_)[job.request], origin, facts);
  origin->root_device = job.parent->root_device;
  origin->cache = job.parent->cache;
  UniqueFd own;
  int parent = job.base == job.parent ? job.parent->fd : Reopen(job, &own);
  return parent < 0 ? parent : OpenChild(parent, job.name, *origin, facts);
}

// A directory that is looked at again and again may have another on its way each time.
int Opener::LookAt(const Request& request, Cache cache, Statx* facts) {
  Origin origin;
  origin.cache = cache;
  origin.knows_cache = true;
  ForgetParent();
  UniqueFd fd(OpenRequest(request, &origin, facts));
  ForgetParent();
  return fd.is_open() ? 0 : fd.get();
}

void Opener::ForgetParent() {
  parent_.request = nullptr;
  parent_.fd.reset();
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
  if (!Looks(request)) origin->knows_cache = true;
  if (request.way_names == 0) return OpenRoot(request, origin, facts);
  int error = OpenParent(request, *origin);
  if (error < 0) return error;
  *origin = parent_.origin;
  // Another directory may have its path by now, and in it another with this name. Not ESTALE, which is a
  // server's word.
  if (request.has(Request::kInParent) && Fold(parent_.facts.ino) != request.parent_ino) return -ENOENT;
  const char* name = request.way;
  for (size_t i = 1; i < request.way_names; i++) name = After(name);
  if (origin->may_be_stale()) LookUpAgain(parent_.fd.get(), name);
  UniqueFd fd(OpenChild(parent_.fd.get(), name, *origin, facts));
  if (!fd.is_open()) return fd.get();
  if (!origin->knows_cache && facts->across_a_mount_from(parent_.facts)) origin->cache = CacheOf(fd.get());
  return fd.release();
}

int Opener::OpenParent(const Request& request, Origin origin) {
  size_t known = 0;
  if (parent_.request != nullptr && HasRootOf(*parent_.request, request)) {
    known = CommonNames(*parent_.request, request);
    if (known + 1 == request.way_names && parent_.request->way_names == request.way_names) return 0;
  }
  Statx facts;
  UniqueFd fd(OpenRoot(request, &origin, &facts));
  if (!fd.is_open()) return fd.get();
  int error = GoDown(fd.get(), request.way, request.way_names - 1, known, &origin, &facts, &fd);
  if (error < 0) return error;
  parent_.request = &request;
  parent_.fd.reset(fd.release());
  parent_.origin = origin;
  parent_.facts = facts;
  return 0;
}

int Opener::OpenRoot(const Request& request, Origin* origin, Statx* facts) {
  UniqueFd fd(Open(AT_FDCWD, request.root,
                   O_PATH | O_DIRECTORY | (request.has(Request::kNoFollowRoot) ? O_NOFOLLOW : 0)));
  if (!fd.is_open()) return fd.get();
  if (!origin->knows_cache) origin->cache = CacheOf(fd.get());
  int error = StatAt(fd.get(), "", facts, origin->may_be_stale());
  if (error < 0) return error;
  origin->root_device = facts->device;
  return fd.release();
}

// A directory without a descriptor, from its nearest ancestor that has one.
int Opener::Reopen(const Job& job, UniqueFd* own) {
  // Filled from the end.
  char names[kMostPathBytes + 1];
  size_t at = sizeof names, count = 0;
  for (Node* node = job.parent; node != job.base && node->parent != nullptr; node = node->parent, count++) {
    size_t bytes = strlen(node->name()) + 1;
    at -= bytes;
    memcpy(names + at, node->name(), bytes);
  }
  Origin origin;
  Statx facts;
  int from = job.base != nullptr ? job.base->fd : OpenRequest((*requests_)[job.request], &origin, &facts);
  if (job.base == nullptr) own->reset(from);
  if (from < 0) return from;
  origin = Origin();
  origin.knows_cache = true;
  int error = GoDown(from, names + at, count, 0, &origin, &facts, own);
  if (error < 0) return error;
  // Something else may be found by now where it was: then it is not what was listed.
  return facts.is_inode_of(job.parent->facts) ? own->get() : -ENOENT;
}

// Opens the directory that names lead to from another, each with a NUL behind it. The first `known` need not
// be looked up anew. Sets facts and origin to those of the last.
int Opener::GoDown(int from, const char* names, size_t count, size_t known, Origin* origin, Statx* facts,
                   UniqueFd* own) {
  while (count > 0) {
    size_t opened = origin->may_be_stale() ? known : count;
    UniqueFd next(opened > 1 ? OpenTogether(from, names, &opened) : -EXDEV);
    if (!next.is_open()) {
      if (!IsToBeOpenedOneByOne(next.get())) return next.get();
      opened = 1;
      if (origin->may_be_stale() && known == 0) LookUpAgain(from, names);
      next.reset(Open(from, names, kOnTheWay));
      if (!next.is_open()) return next.get();
    }
    Statx before = *facts;
    int error = StatAt(next.get(), "", facts);
    if (error < 0) return error;
    if (!origin->knows_cache && facts->across_a_mount_from(before)) origin->cache = CacheOf(next.get());
    own->reset(next.release());
    from = own->get();
    count -= opened;
    known -= opened < known ? opened : known;
    while (opened-- > 0) names = After(names);
  }
  return 0;
}

// The directory that the names lead to on this mount: as many of them as one path has room for, to which
// `count` is set.
int Opener::OpenTogether(int directory, const char* names, size_t* count) {
  char path[PATH_MAX];
  size_t bytes = 0, taken = 0;
  for (; taken < *count; taken++) {
    size_t length = strlen(names);
    if (bytes + length >= sizeof path) break;
    memcpy(path + bytes, names, length);
    path[bytes + length] = '/';
    bytes += length + 1;
    names += length + 1;
  }
  if (taken == 0) return -ENAMETOOLONG;
  path[bytes - 1] = '\0';
  *count = taken;
  return Open(directory, path, kOnTheWay, RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}
