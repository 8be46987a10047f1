#include "scan/dir_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uv.h>

#include <cstring>

#include "base/fd_path.h"
#include "base/retry.h"

namespace {

// fuse_readdir's for "not known" (libfuse, unless the server says otherwise).
constexpr uint64_t kUnknownIno = 0xffffffff;

Kind KindOfType(uint32_t type) {
  switch (type) {
    case DT_REG:
      return Kind::kFile;
    case DT_LNK:
      return Kind::kSymlink;
    case DT_DIR:
      return Kind::kDirectory;
    default:
      return Kind::kOther;
  }
}

Kind KindOfMode(uint32_t mode) {
  return KindOfType(IFTODT(mode));
}

// The most that one read(2) of a file brings.
constexpr size_t kContentBytes = 128 * 1024;

// Later than any moment that a time is compared with.
constexpr uint64_t kEndOfTime = UINT64_MAX;

// A file system that keeps whole seconds may tick every two, and changes of one tick look alike. See
// mayBeChangedSince in src/watch/scan/entry.ts.
bool MayBeChangedSince(uint64_t ctime, double since) {
  bool is_coarse = ctime % 1'000'000'000 == 0;
  return Milliseconds(ctime) + (is_coarse ? 2000 : 0) >= since;
}

}  // namespace

Node* DirReader::Visit(const Job& job) {
  const Request& request = (*plan_.requests)[job.request];
  bool may_stat_only = job.parent == nullptr && request.has(Request::kStatOnly);
  StatOnly* stat_only = may_stat_only ? &plan_.stat_only[job.request] : nullptr;
  uint64_t began = uv_hrtime();
  if (stat_only != nullptr && stat_only->MayDo(began) && stat_only->Suffices(&opener_, request)) {
    record_.Begin(job.name);
    record_.Finish();
    record_.is_known = true;
    return nullptr;
  }
  Origin origin;
  Node* node = Explore(job, &origin);
  record_.Finish();
  if (request.has(Request::kCompare)) Compare(job, request);
  if (node != nullptr) node->place = record_.place;
  if (stat_only == nullptr) return node;
  // Overlay shows the times of one layer, whatever has changed in another.
  bool has_times = origin.cache != Cache::kNamesAndAttributes && !has_younger_;
  if (record_.is_known && has_times) {
    stat_only->Note(began, record_.facts, origin.cache);
  } else {
    stat_only->Forget();
  }
  return node;
}

void DirReader::Compare(const Job& job, const Request& request) {
  Digest above;
  if (job.parent != nullptr) {
    above = job.parent->place;
  } else {
    Hasher request_of;
    request_of.Add(request.root, strlen(request.root) + 1);
    const char* name = request.way;
    for (size_t i = 0; i < request.way_names; i++) name += strlen(name) + 1;
    request_of.Add(request.way, static_cast<size_t>(name - request.way));
    // These say how the entry is looked at, and not what is found.
    request_of.Add(request.flags & ~uint32_t{Request::kStatOnly});
    above = request_of.Finish();
  }
  record_.Sum(above);
  record_.is_known = plan_.memory->Knows(record_.digest);
}

Node* DirReader::Explore(const Job& job, Origin* origin) {
  const Request& request = (*plan_.requests)[job.request];
  record_.Begin(job.name);
  has_younger_ = false;
  if (request.has(Request::kLook)) record_.flags |= Record::kLook;
  UniqueFd directory(opener_.OpenJob(job, origin, &record_.facts));
  if (!directory.is_open()) {
    record_.error = directory.get();
    // The facts may be those of the directory above.
    record_.facts = Statx();
    return nullptr;
  }
  if (record_.facts.device != origin->root_device) record_.flags |= Record::kOtherDevice;
  if (request.has(Request::kLook)) {
    Look(directory.get(), request, *origin);
    return nullptr;
  }
  if (job.parent != nullptr && record_.facts.across_a_mount_from(job.parent->facts)) {
    record_.flags |= Record::kBoundary;
    return nullptr;
  }
  size_t path_bytes =
      job.parent != nullptr ? job.parent->path_bytes + 1 + strlen(job.name) : request.path_bytes;
  if (path_bytes > kMostPathBytes) {
    record_.error = -ENAMETOOLONG;
    return nullptr;
  }
  // Before it is listed: what is made in between is in both, and never in neither.
  if (request.has(Request::kWatch) && plan_.queue >= 0) record_.wd = Watch(directory.get());
  int error = List(directory.get(), request, *origin);
  // The error of a name, set by Add(), stands unless the whole has one.
  if (error != 0) record_.error = error;
  if (!request.has(Request::kRecursive) || record_.subdirectory_count() == 0) return nullptr;
  if (record_.subdirectories().failed()) return nullptr;
  Node* node = Node::Make(record_, job.parent, directory.get());
  if (node == nullptr) {
    record_.error = -ENOMEM;
    return nullptr;
  }
  directory.release();
  node->request = job.request;
  node->root_device = origin->root_device;
  node->cache = origin->cache;
  node->path_bytes = path_bytes;
  return node;
}

void DirReader::Look(int directory, const Request& request, const Origin& origin) {
  const char* name = request.names;
  for (size_t i = 0; i < request.name_count; i++, name += strlen(name) + 1) {
    if (is_cancelled()) {
      record_.error = -ECANCELED;
      return;
    }
    Statx facts;
    int error = Ask(directory, name, origin, &facts);
    if (error == 0 && !request.has(Request::kStat)) {
      record_.Add(KindOfMode(facts.mode), facts.ino, name, nullptr);
    } else if (error == 0) {
      AddWhole(directory, name, request, origin, facts);
    } else if (error != -ENOENT && error != -ENAMETOOLONG) {
      record_.error = error;
    }
  }
}

int DirReader::Ask(int directory, const char* name, const Origin& origin, Statx* facts) {
  if (origin.may_be_stale()) LookUpAgain(directory, name);
  return StatAt(directory, name, facts, origin.cache == Cache::kNamesAndAttributes);
}

// With all that is asked for.
void DirReader::AddWhole(int directory, const char* name, const Request& request, const Origin& origin,
                         const Statx& facts) {
  // A link is not written to: its time is that of its name in the directory, or before that.
  Kind kind = KindOfMode(facts.mode);
  if (kind == Kind::kSymlink && facts.mtime > record_.facts.mtime) has_younger_ = true;
  Digest content;
  if (request.has(Request::kHash) && facts.is_file()) {
    int error = Hash(directory, name, facts, origin.may_be_stale(), &content);
    // Another has its name by now. What cannot be read is known by its stat alone.
    if (error == -ENOENT) record_.flags |= Record::kVanished;
    if (error == -ECANCELED) record_.error = error;
  }
  record_.Add(kind, facts.ino, name, &facts, content.is_none() ? nullptr : &content);
}

// Reads the file through that has this name and is `facts`. Returns 0; -ENOENT if the name is another file's
// by now; -errno if the file cannot be read.
int DirReader::Hash(int directory, const char* name, const Statx& facts, bool may_be_stale, Digest* digest) {
  // Held before it is known to be a file, by a descriptor that reads nothing: the name may be a FIFO's by
  // now, for which an open would wait, or a device's, which it would set going.
  UniqueFd held(opener_.Open(directory, name, O_PATH | O_NOFOLLOW));
  if (!held.is_open()) return held.get();
  Statx found;
  int error = StatAt(held.get(), "", &found);
  if (error < 0) return error;
  if (!found.is_inode_of(facts) || !found.is_file()) return -ENOENT;
  UniqueFd file(OpenFile(held.get()));
  if (!file.is_open()) return file.get();
  // virtiofs with cache=always keeps pages that the host has overwritten, even when their file is opened
  // anew. What it answers changes nothing.
  if (may_be_stale) posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  uint8_t* buffer = content_.Room(kContentBytes);
  if (buffer == nullptr) return -ENOMEM;
  Hasher hasher;
  for (;;) {
    if (is_cancelled()) return -ECANCELED;
    int64_t bytes = Retry([&] { return read(file.get(), buffer, kContentBytes); });
    if (bytes < 0) return static_cast<int>(bytes);
    if (bytes == 0) break;
    hasher.Add(buffer, static_cast<size_t>(bytes));
  }
  *digest = hasher.Finish();
  return 0;
}

int DirReader::OpenFile(int file) {
  // O_NONBLOCK: a lease of another process's is not waited for. O_NOATIME: that it was read is nobody's news;
  // but it is the owner's alone to ask for that.
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
  const FdPath path(file);
  int fd = opener_.Open(AT_FDCWD, path.c_str(), kFlags | O_NOATIME);
  return fd == -EPERM ? opener_.Open(AT_FDCWD, path.c_str(), kFlags) : fd;
}

// A wd or -errno. By its descriptor: no path is followed, so none can lead elsewhere or be too long.
int DirReader::Watch(int directory) {
  return GoTo(directory) ? AddWatch(".") : AddWatch(FdPath(directory).c_str());
}

int DirReader::AddWatch(const char* path) {
  // IN_DONT_FOLLOW would watch the link in /proc.
  const uint32_t mask = plan_.mask & ~static_cast<uint32_t>(IN_DONT_FOLLOW);
  return static_cast<int>(Retry([&] { return inotify_add_watch(plan_.queue, path, mask); }));
}

// Makes it the working directory of this thread alone: a walk takes a tenth less time than through /proc.
// Containers may forbid the unsharing, and a directory that may not be searched cannot be gone to.
bool DirReader::GoTo(int directory) {
  if (!asked_to_unshare_) {
    asked_to_unshare_ = true;
    unshared_ = unshare(CLONE_FS) == 0;
  }
  return unshared_ && fchdir(directory) == 0;
}

// The thread goes on, and where it has gone to would be busy (umount(2)) for as long. The root is that in any
// case.
DirReader::~DirReader() {
  // A thread that cannot go to the root reaches no path at all: ignores the error.
  [[maybe_unused]] int error = unshared_ ? chdir("/") : 0;
}

// By another descriptor, and only now that the watch has been added, because a listing may end with what was
// there when its descriptor was opened (btrfs since 6.5, tmpfs since 6.11).
int DirReader::List(int directory, const Request& request, const Origin& origin) {
  UniqueFd readable(OpenToList(directory, origin.may_be_stale(), [&](int at, const char* path, int flags) {
    return opener_.Open(at, path, flags);
  }));
  if (!readable.is_open()) return readable.get();
  return static_cast<int>(
      ForEachEntry(readable.get(), entries_, sizeof entries_, [&](const ListedEntry& entry) {
        if (is_cancelled()) return -ECANCELED;
        AddListed(directory, entry, request, origin);
        return 0;
      }));
}

void DirReader::AddListed(int directory, const ListedEntry& entry, const Request& request,
                          const Origin& origin) {
  bool stat = request.has(Request::kStat);
  Kind kind = KindOfType(entry.type);
  uint64_t ino = entry.ino != kUnknownIno ? entry.ino : 0;
  if (!stat && entry.type != DT_UNKNOWN) {
    record_.Add(kind, ino, entry.name, nullptr);
    return;
  }
  Statx facts;
  int error = Ask(directory, entry.name, origin, &facts);
  if (error == -ENOENT) {
    record_.flags |= Record::kVanished;
    return;
  }
  if (error == 0 && stat && MayBeChangedSince(facts.ctime, request.since)) {
    AddWhole(directory, entry.name, request, origin, facts);
  } else if (error == 0 && entry.type == DT_UNKNOWN) {
    record_.Add(KindOfMode(facts.mode), facts.ino, entry.name, nullptr);
  } else if (error != 0 && error != -EACCES && request.has(Request::kSince) && kind != Kind::kDirectory) {
    // When it was changed nobody can say just now: it may have been since.
    facts = Statx();
    facts.ctime = kEndOfTime;
    record_.Add(kind, ino, entry.name, &facts);
  } else {
    // Without a stat, if none was asked for or can be had: a directory may be readable and not searchable.
    record_.Add(kind, ino, entry.name, nullptr);
  }
}
