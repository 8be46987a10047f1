#include "run/watched/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "run/base/directory_reader.h"
#include "run/base/text.h"

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
    if (memcmp(at, "OFDLCK", 6) != 0) continue;
    at += strcspn(at, "\n");
    // The line ends with the first and the last byte.
    uint64_t last = 0, scale = 1;
    while (*--at >= '0' && *at <= '9') last += scale * static_cast<uint64_t>(*at - '0'), scale *= 10;
    return last;
  }
  return 0;
}

uint64_t MarkOf(const char* path) {
  UniqueFd file(openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  // The locks come before the watches.
  char text[512] = {};
  if (!file.is_open() || read(file.get(), text, sizeof text - 16) <= 0) return 0;
  return MarkIn(text);
}

// Returns true if proc(5) says that a descriptor is an inotify instance.
bool IsInstance(const char* path) {
  constexpr char kInstance[] = "anon_inode:inotify";
  char text[sizeof kInstance] = {};
  const long length = syscall(SYS_readlinkat, AT_FDCWD, path, text, sizeof text);
  return length == sizeof kInstance - 1 && memcmp(text, kInstance, sizeof kInstance - 1) == 0;
}

Text PathOf(pid_t process, const char* directory, const char* name) {
  Text path;
  path.Add("/proc/").Add(static_cast<uint64_t>(process)).Add("/").Add(directory).Add("/").Add(name);
  return path;
}

// -1: it is none.
int NumberOf(const char* text) {
  int number = 0;
  for (; *text >= '0' && *text <= '9'; text++) number = number * 10 + (*text - '0');
  return *text == '\0' ? number : -1;
}

}  // namespace

size_t Instance::Place(int wd) const {
  return watches_.Place([wd](const Watch& watch) { return watch.wd < wd ? -1 : watch.wd > wd; });
}

Polled* Instance::Find(int wd) const {
  const size_t at = Place(wd);
  return at < watches_.size() && watches_[at].wd == wd ? watches_[at].polled : nullptr;
}

void Instance::Note(int wd, Polled* polled) {
  if (Find(wd) == nullptr) watches_.Insert(Place(wd), {wd, polled});
}

void Instance::Forget(int wd) {
  if (Find(wd) != nullptr) watches_.Remove(Place(wd));
}

Instance* Instances::Make(int flags, int* error) {
  const long fd = syscall(SYS_inotify_init1, flags | IN_CLOEXEC);
  if (fd < 0 || !Mark(static_cast<int>(fd), next_id_)) {
    *error = errno;
    if (fd >= 0) close(static_cast<int>(fd));
    return nullptr;
  }
  auto* made = new (Allocate(sizeof(Instance))) Instance(static_cast<int>(fd), next_id_++);
  all_.Add(made);
  return made;
}

void Instances::NoteInherited() {
  const auto own = static_cast<pid_t>(syscall(SYS_getpid));
  DirectoryReader descriptors(AT_FDCWD, "/proc/self/fd");
  while (const char* name = descriptors.Next())
    is_any_inherited_ = is_any_inherited_ || IsInstance(PathOf(own, "fd", name).text());
}

Instance* Instances::Of(pid_t thread, int fd, bool is_of_the_program) {
  const long own = syscall(SYS_getpid);
  bool is_compared = true;
  for (Instance* each : all_) {
    const long order = syscall(SYS_kcmp, own, thread, KCMP_FILE, each->fd(), fd);
    if (order == 0) return each;
    is_compared = is_compared && order > 0;
  }
  if (is_compared) return nullptr;
  // kcmp(2) is refused, as to an ordinary container. proc(5) writes a line for each watch, whoever
  // reads how few of them: that takes 4 us each. A program that has made one instance alone is spared it.
  Text number;
  number.Add(static_cast<uint64_t>(static_cast<unsigned>(fd)));
  if (!IsInstance(PathOf(thread, "fd", number.text()).text())) return nullptr;
  if (is_of_the_program && next_id_ == 2 && all_.size() == 1 && !is_any_inherited_) return all_[0];
  const uint64_t id = MarkOf(PathOf(thread, "fdinfo", number.text()).text());
  for (Instance* each : all_)
    if (each->id() == id) return each;
  return nullptr;
}

void Instances::Drop(Instance* instance) {
  for (size_t i = 0; i < all_.size(); i++)
    if (all_[i] == instance) all_.Remove(i--);
  instance->~Instance();
  Free(instance, sizeof(Instance));
}

void Instances::FindClosed(Vector<Instance*>* closed) {
  bool is_any_unseen = false;
  for (Instance* each : all_) {
    each->unseen = Of(each->holder, each->number, false) == each ? 0 : each->unseen + 1;
    is_any_unseen = is_any_unseen || each->unseen > 0;
  }
  if (is_any_unseen) FindHolders();
  for (Instance* each : all_)
    if (each->unseen >= 2) closed->Add(each);
}

void Instances::FindHolders() {
  const auto own = static_cast<pid_t>(syscall(SYS_getpid));
  DirectoryReader processes(AT_FDCWD, "/proc");
  while (const char* process = processes.Next()) {
    const pid_t holder = NumberOf(process);
    if (holder <= 0 || holder == own) continue;
    DirectoryReader descriptors(AT_FDCWD, PathOf(holder, "fd", "").text());
    while (const char* name = descriptors.Next()) {
      if (!IsInstance(PathOf(holder, "fd", name).text())) continue;
      const int number = NumberOf(name);
      Instance* seen = Of(holder, number, false);
      if (seen == nullptr) continue;
      seen->holder = holder;
      seen->number = number;
      seen->unseen = 0;
    }
  }
}
