#include "run/watched/polling.h"

#include <errno.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

namespace {

constexpr uint32_t kHeard = IN_CREATE | IN_DELETE | IN_MOVE | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE |
                            IN_DELETE_SELF | IN_MOVE_SELF | IN_OPEN | IN_ACCESS | IN_CLOSE_NOWRITE;
constexpr rlim_t kSpare = 64;

}  // namespace

bool Polling::Open() {
  local_.reset(static_cast<int>(syscall(SYS_inotify_init1, IN_NONBLOCK | IN_CLOEXEC)));
  return local_.is_open();
}

Polled* Polling::At(UniqueFd* found, const Statx& facts, int* error) {
  Text path;
  path.Add("/proc/self/fd/").Add(static_cast<uint64_t>(found->get()));
  // The kernel has one for an inode, by whatever name.
  const int wd = static_cast<int>(syscall(SYS_inotify_add_watch, local_.get(), path.text(), kHeard));
  *error = wd < 0 ? -errno : 0;
  if (wd < 0) return nullptr;
  if (Polled* had = ByLocalWatch(wd)) {
    if (!had->is_gone()) return had;
    Release(had);
    return At(found, facts, error);
  }
  if (static_cast<rlim_t>(found->get()) + kSpare > most_descriptors_) {
    syscall(SYS_inotify_rm_watch, local_.get(), wd);
    *error = -ENOSPC;
    return nullptr;
  }
  auto* made = new (Allocate(sizeof(Polled))) Polled(&ground_, found->release(), facts);
  made->local_wd = wd;
  polled_.Insert(PlaceOf(wd), made);
  *error = made->LearnAll();
  if (*error < 0) {
    Release(made);
    return nullptr;
  }
  return made;
}

void Polling::Release(Polled* polled) {
  polled_.Remove(PlaceOf(polled->local_wd));
  // EINVAL: the kernel has ended it.
  syscall(SYS_inotify_rm_watch, local_.get(), polled->local_wd);
  polled->~Polled();
  Free(polled, sizeof(Polled));
}

size_t Polling::PlaceOf(int wd) const {
  return polled_.Place([wd](const Polled* each) { return each->local_wd < wd ? -1 : 1; });
}

Polled* Polling::ByLocalWatch(int wd) const {
  const size_t at = PlaceOf(wd);
  return at < polled_.size() && polled_[at]->local_wd == wd ? polled_[at] : nullptr;
}

void Polling::Drain() {
  alignas(inotify_event) char buffer[65536];
  // Events that come meanwhile wait: callers wait as well.
  int queued = 0;
  syscall(SYS_ioctl, local_.get(), FIONREAD, &queued);
  while (queued > 0) {
    const long bytes = syscall(SYS_read, local_.get(), buffer, sizeof buffer);
    if (bytes <= 0) return;
    queued -= static_cast<int>(bytes);
    for (const char* at = buffer; at < buffer + bytes;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof *event + event->len;
      const char* name = event->len > 0 ? event->name : "";
      const bool is_directory = (event->mask & IN_ISDIR) != 0;
      Polled* polled = ByLocalWatch(event->wd);
      const auto* next = reinterpret_cast<const inotify_event*>(at);
      const bool is_pair = (event->mask & IN_MOVED_FROM) != 0 && at < buffer + bytes &&
                           (next->mask & IN_MOVED_TO) != 0 && next->cookie == event->cookie;
      if (is_pair) {
        Polled* to = ByLocalWatch(next->wd);
        at += sizeof *next + next->len;
        if (polled != nullptr) polled->Learn(name);
        if (to != nullptr) to->Learn(next->name);
        Shadow::TellMoved(&ground_, polled == nullptr ? nullptr : polled->shadow(), name,
                          to == nullptr ? nullptr : to->shadow(), next->name, is_directory);
      } else if (polled != nullptr) {
        polled->TakeLocal(event->mask, name);
      }
      // IN_Q_OVERFLOW: the next look finds what was lost.
    }
  }
}

void Polling::Look() {
  Vector<Difference> found;
  for (size_t i = 0; i < polled_.size(); i++) {
    Polled* each = polled_[i];
    Drain();
    each->LookAtSelf();
    if (each->is_gone() || !each->is_directory() || !each->BeginLook()) continue;
    // Whatever a look has seen of local changes is told by now.
    Drain();
    each->EndLook(&found);
  }
  TellAll(&ground_, &found);
}

void Polling::ReleaseIfUnwatched(Polled* polled) {
  if (polled->is_gone() || !polled->shadow()->is_watched()) Release(polled);
}

void Polling::ReleaseUnwatched() {
  for (size_t i = polled_.size(); i-- > 0;) ReleaseIfUnwatched(polled_[i]);
}
