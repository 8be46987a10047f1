#include "run/watched/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "run/base/names.h"
#include "run/caller.h"

namespace {

// The kernel gives all instances one inode. A lock on a byte of that, shared so that nobody is kept out,
// tells them apart: proc(5) shows the locks of a descriptor, and each copy of it has them.
bool Mark(int fd, uint64_t id) {
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(id);
  lock.l_len = 1;
  return syscall(SYS_fcntl, fd, F_OFD_SETLK, &lock) == 0;
}

// 0: none that was marked here.
uint64_t MarkIn(const char* fdinfo) {
  for (const char* at = fdinfo; *at != '\0'; at++) {
    if (!BeginsWith(at, "OFDLCK")) continue;
    at += strcspn(at, "\n");
    // The line ends with the first and the last byte.
    while (at[-1] >= '0' && at[-1] <= '9') at--;
    return NumberAt(&at);
  }
  return 0;
}

uint64_t MarkOf(const char* path) {
  UniqueFd file(openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  // The locks come before the watches.
  char text[512] = {};
  if (!file.is_open() || read(file.get(), text, sizeof text - 1) <= 0) return 0;
  return MarkIn(text);
}

// Returns true if proc(5) says that a descriptor is an inotify instance.
bool IsInstance(const char* path) {
  constexpr char kInstance[] = "anon_inode:inotify";
  char text[sizeof kInstance + 1] = {};
  syscall(SYS_readlinkat, AT_FDCWD, path, text, sizeof kInstance);
  return strcmp(text, kInstance) == 0;
}

}  // namespace

std::vector<Watch>::const_iterator Instance::Place(int wd) const {
  return std::lower_bound(watches_.begin(), watches_.end(), wd,
                          [](const Watch& each, int sought) { return each.wd < sought; });
}

Polled* Instance::Find(int wd) const {
  const auto at = Place(wd);
  return at != watches_.end() && at->wd == wd ? at->polled : nullptr;
}

void Instance::Note(int wd, Polled* polled) {
  if (Find(wd) == nullptr) watches_.insert(Place(wd), {wd, polled});
}

void Instance::Forget(int wd) {
  if (Find(wd) != nullptr) watches_.erase(Place(wd));
}

Instance* Instances::Make(int flags, int* error) {
  const long fd = syscall(SYS_inotify_init1, flags | IN_CLOEXEC);
  if (fd < 0 || !Mark(static_cast<int>(fd), next_id_)) {
    *error = errno;
    if (fd >= 0) close(static_cast<int>(fd));
    return nullptr;
  }
  all_.push_back(std::make_unique<Instance>(static_cast<int>(fd), next_id_++));
  return all_.back().get();
}

void Instances::NoteInherited() {
  const auto own = static_cast<pid_t>(syscall(SYS_getpid));
  ForEachName(AT_FDCWD, "/proc/self/fd", [&](int, const char* name) {
    is_any_inherited_ = is_any_inherited_ || IsInstance(PathOf(own, "fd/").Add(name).text());
  });
}

Instance* Instances::Of(pid_t thread, int fd, bool is_of_the_program) {
  const long own = syscall(SYS_getpid);
  bool is_compared = true;
  for (const auto& each : all_) {
    const long order = syscall(SYS_kcmp, own, thread, KCMP_FILE, each->fd(), fd);
    if (order == 0) return each.get();
    is_compared = is_compared && order > 0;
  }
  if (is_compared) return nullptr;
  // kcmp(2) is refused, as to an ordinary container. proc(5) writes a line for each watch, whoever
  // reads how few of them: that takes 4 us each. A program that has made one instance alone is spared it.
  if (!IsInstance(PathOf(thread, "fd/").Add(fd).text())) return nullptr;
  if (is_of_the_program && next_id_ == 2 && all_.size() == 1 && !is_any_inherited_) return all_[0].get();
  const uint64_t id = MarkOf(PathOf(thread, "fdinfo/").Add(fd).text());
  for (const auto& each : all_)
    if (each->id() == id) return each.get();
  return nullptr;
}

void Instances::Drop(Instance* instance) {
  const auto is_it = [&](const auto& each) { return each.get() == instance; };
  all_.erase(std::find_if(all_.begin(), all_.end(), is_it));
}

void Instances::FindClosed(std::vector<Instance*>* closed) {
  bool is_any_unseen = false;
  for (const auto& each : all_) {
    each->unseen = Of(each->holder, each->number, false) == each.get() ? 0 : each->unseen + 1;
    is_any_unseen = is_any_unseen || each->unseen > 0;
  }
  if (is_any_unseen) FindHolders();
  for (const auto& each : all_)
    if (each->unseen >= 2) closed->push_back(each.get());
}

void Instances::FindHolders() {
  const auto own = static_cast<pid_t>(syscall(SYS_getpid));
  ForEachName(AT_FDCWD, "/proc", [&](int, const char* process) {
    // 0: what else lies there.
    const auto holder = static_cast<pid_t>(NumberAt(&process));
    if (holder == 0 || holder == own) return;
    ForEachName(AT_FDCWD, PathOf(holder, "fd").text(), [&](int, const char* name) {
      if (!IsInstance(PathOf(holder, "fd/").Add(name).text())) return;
      const auto number = static_cast<int>(NumberAt(&name));
      Instance* seen = Of(holder, number, false);
      if (seen == nullptr) return;
      seen->holder = holder;
      seen->number = number;
      seen->unseen = 0;
    });
  });
}
