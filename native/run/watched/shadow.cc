#include "run/watched/shadow.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>

#include "base/statx.h"
#include "run/base/names.h"
#include "run/base/report.h"
#include "run/watched/mounts.h"

namespace {

constexpr char kPrefix[] = ".inotify-bridge-run-";
// The place that an entry is moved from, or to, where nobody watches the other end.
constexpr char kLimbo[] = "limbo";
// The kernel takes no empty mask. Each watch has this one, and nothing here is unmounted.
constexpr uint32_t kBlind = IN_UNMOUNT;
constexpr uint32_t kKept = IN_ALL_EVENTS | IN_ONESHOT | IN_EXCL_UNLINK;

bool MakeAt(int at, const char* path, bool is_directory) {
  return (is_directory ? syscall(SYS_mkdirat, at, path, 0700)
                       : syscall(SYS_mknodat, at, path, S_IFREG | 0600, 0)) == 0;
}

void RemoveAt(int at, const char* path, bool is_directory) {
  syscall(SYS_unlinkat, at, path, is_directory ? AT_REMOVEDIR : 0);
}

// Two levels, of what was made here.
void RemoveAll(int at, const char* name, int depth) {
  if (depth > 0)
    ForEachName(at, name, [&](int opened, const char* entry) { RemoveAll(opened, entry, depth - 1); });
  RemoveAt(at, name, true);
  RemoveAt(at, name, false);
}

// Removes the directory of a process that has ended: one that lives has it locked.
void RemoveLeft(int at, const char* name) {
  UniqueFd held(OpenAt(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  Statx facts;
  if (held.is_open() && StatAt(held.get(), "", &facts) == 0 &&
      facts.uid == static_cast<uint32_t>(geteuid()) && syscall(SYS_flock, held.get(), LOCK_EX | LOCK_NB) == 0)
    RemoveAll(at, name, 2);
}

}  // namespace

bool Ground::Make() {
  // No pointers: nobody would relocate them.
  constexpr char kPlaces[][10] = {"/dev/shm", "/tmp", "/run", "/var/tmp"};
  for (const auto& place : kPlaces)
    if (MakeIn(place)) return true;
  return false;
}

bool Ground::MakeIn(const char* place) {
  place_.reset(OpenAt(AT_FDCWD, place, O_RDONLY | O_DIRECTORY));
  const int at = place_.get();
  if (at < 0 || IsSilent(at)) return false;
  ForEachName(at, ".", [&](int, const char* name) {
    if (BeginsWith(name, kPrefix)) RemoveLeft(at, name);
  });
  // Another process, which begins as well, may take it for left before it is locked: then it is gone.
  for (int trial = 0; trial < 100; trial++)
    if (MakeOwn()) return true;
  return false;
}

bool Ground::MakeOwn() {
  const int at = place_.get();
  timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  name_ = Text();
  name_.Add(kPrefix).Add(syscall(SYS_getpid)).Add("-");
  name_.Add(now.tv_sec * 1000000000 + now.tv_nsec);
  if (!MakeAt(at, name_.text(), true)) return false;
  fd_.reset(OpenAt(at, name_.text(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return fd_.is_open() && syscall(SYS_flock, fd_.get(), LOCK_EX | LOCK_NB) == 0 &&
         MakeAt(fd_.get(), kLimbo, true);
}

void Ground::MakeEntry(const char* path, bool is_directory) {
  if (MakeAt(fd_.get(), path, is_directory) || errno == EEXIST || is_full_) return;
  is_full_ = true;
  Say("events are lost: there is no room for an empty file in the directory for shadows (df -i)");
}

void Ground::Remove() {
  if (fd_.is_open()) RemoveAll(place_.get(), name_.text(), 2);
  fd_.reset();
}

Shadow::Shadow(Ground* ground, bool is_directory)
    : ground_(ground), number_(ground->NextNumber()), is_directory_(is_directory) {
  is_there_ = MakeAt(ground->fd(), PathTo("").text(), is_directory);
}

Shadow::~Shadow() {
  if (is_there_) RemoveAt(ground_->fd(), PathTo("").text(), is_directory_);
}

Text Shadow::PathTo(const char* name) const {
  Text path;
  path.Add(number_);
  if (*name != '\0') path.Add("/").Add(name);
  return path;
}

int Shadow::Watch(Instance* instance, uint32_t mask) {
  if (!is_there_) return -ENOSPC;
  Show(true);
  Text path;
  path.Add("/proc/self/fd/").Add(ground_->fd()).Add("/").Add(number_);
  const long wd = syscall(SYS_inotify_add_watch, instance->fd(), path.text(), mask);
  if (wd < 0) return -errno;
  for (Subscription& each : subscriptions_) {
    if (each.instance != instance || each.wd != wd) continue;
    each.mask = ((mask & IN_MASK_ADD) != 0 ? each.mask | mask : mask) & kKept;
    return static_cast<int>(wd);
  }
  subscriptions_.push_back({instance, static_cast<int>(wd), mask & kKept});
  return static_cast<int>(wd);
}

void Shadow::Forget(const Instance* instance, int wd) {
  const auto is_it = [&](const Subscription& each) { return each.instance == instance && each.wd == wd; };
  subscriptions_.erase(std::remove_if(subscriptions_.begin(), subscriptions_.end(), is_it),
                       subscriptions_.end());
}

uint32_t Shadow::mask() const {
  uint32_t all = 0;
  for (const Subscription& each : subscriptions_) all |= each.mask & IN_ALL_EVENTS;
  return all;
}

void Shadow::Drop(size_t at) {
  subscriptions_[at].instance->Forget(subscriptions_[at].wd);
  subscriptions_.erase(subscriptions_.begin() + static_cast<ptrdiff_t>(at));
}

// Lets the watches see what is done here, or not.
void Shadow::Show(bool is_shown, uint32_t hidden) {
  if (is_shown_ == is_shown && hidden == 0) return;
  is_shown_ = is_shown;
  Text path;
  path.Add("/proc/self/fd/").Add(ground_->fd()).Add("/").Add(number_);
  for (size_t i = 0; i < subscriptions_.size(); i++) {
    const Subscription& each = subscriptions_[i];
    const uint32_t asked = each.mask & ~hidden;
    const bool is_seen = is_shown && !(is_unlinked_ && (asked & IN_EXCL_UNLINK) != 0);
    const uint32_t mask = is_seen && (asked & IN_ALL_EVENTS) != 0 ? asked : kBlind;
    const long wd = syscall(SYS_inotify_add_watch, each.instance->fd(), path.text(), mask);
    if (wd == each.wd) continue;
    // The kernel had ended that watch, and has added a new one.
    if (wd >= 0) syscall(SYS_inotify_rm_watch, each.instance->fd(), wd);
    Drop(i--);
  }
}

// IN_ONESHOT: the kernel has ended those that this event was for.
void Shadow::Fired(uint32_t event) {
  for (size_t i = 0; i < subscriptions_.size(); i++)
    if ((subscriptions_[i].mask & IN_ONESHOT) != 0 && (subscriptions_[i].mask & event) != 0) Drop(i--);
}

// An open file's events, one of which is to be seen.
void Shadow::TellOpened(uint32_t event, const char* path, bool is_directory) {
  const int how = event == IN_CLOSE_WRITE ? O_WRONLY : is_directory ? O_RDONLY | O_DIRECTORY : O_RDONLY;
  const int fd = OpenAt(ground_->fd(), path, how);
  Show(event != IN_OPEN);
  if (fd >= 0) close(fd);
}

void Shadow::Tell(uint32_t event, const char* name, bool is_directory, bool is_unlinked) {
  if ((mask() & event) == 0) return;
  if (event == IN_MOVED_FROM) return TellMoved(ground_, this, name, nullptr, name, is_directory);
  if (event == IN_MOVED_TO) return TellMoved(ground_, nullptr, name, this, name, is_directory);
  const int at = ground_->fd();
  const Text text = PathTo(name);
  const char* path = text.text();
  const bool is_named = *name != '\0';
  if (is_named && event != IN_CREATE) {
    Show(false);
    is_unlinked_ = is_unlinked;
    ground_->MakeEntry(path, is_directory);
  }
  Show((event & IN_CLOSE) == 0);
  switch (event) {
    case IN_CREATE:
      ground_->MakeEntry(path, is_directory);
      break;
    case IN_DELETE:
      RemoveAt(at, path, is_directory);
      break;
    case IN_ACCESS:
    case IN_MODIFY: {
      // One time alone that is set is told as what sets it (fs/attr.c, fsnotify_change).
      timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
      times[event == IN_ACCESS ? 0 : 1].tv_nsec = UTIME_NOW;
      syscall(SYS_utimensat, at, path, times, 0);
      break;
    }
    case IN_ATTRIB:
      syscall(SYS_fchmodat, at, path, 0700);
      break;
    case IN_OPEN:
    case IN_CLOSE_WRITE:
    case IN_CLOSE_NOWRITE:
      TellOpened(event, path, is_directory);
      break;
    case IN_MOVE_SELF: {
      number_ = ground_->NextNumber();
      const Text next = PathTo("");
      syscall(SYS_renameat2, at, path, at, next.text(), 0);
      break;
    }
    default:
      break;
  }
  Fired(event);
  if (!is_named || event == IN_DELETE) return;
  Show(false);
  is_unlinked_ = false;
  RemoveAt(at, path, is_directory);
}

void Shadow::TellMoved(Ground* ground, Shadow* from, const char* name, Shadow* to, const char* new_name,
                       bool is_directory) {
  Text limbo;
  limbo.Add(kLimbo).Add("/x");
  const Text source = from == nullptr ? limbo : from->PathTo(name);
  const Text target = to == nullptr ? limbo : to->PathTo(new_name);
  const int at = ground->fd();
  if (from != nullptr) from->Show(false);
  ground->MakeEntry(source.text(), is_directory);
  if (from != nullptr) from->Show(true);
  if (to != nullptr) to->Show(true);
  syscall(SYS_renameat2, at, source.text(), at, target.text(), 0);
  if (from != nullptr) from->Fired(IN_MOVED_FROM);
  if (to != nullptr) {
    to->Fired(IN_MOVED_TO);
    to->Show(false);
  }
  RemoveAt(at, target.text(), is_directory);
}

void Shadow::TellDeleted(uint32_t told) {
  Show(true, told);
  if (is_there_) RemoveAt(ground_->fd(), PathTo("").text(), is_directory_);
  is_there_ = false;
  while (is_watched()) Drop(subscriptions_.size() - 1);
}

void Shadow::TellIgnored() {
  for (const Subscription& each : subscriptions_) syscall(SYS_inotify_rm_watch, each.instance->fd(), each.wd);
  while (is_watched()) Drop(subscriptions_.size() - 1);
}
