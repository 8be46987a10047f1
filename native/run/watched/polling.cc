#include "run/watched/polling.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace {

constexpr uint32_t kHeard =
    IN_CREATE | IN_DELETE | IN_MOVE | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF;
// A program that only wants to hear of changes does not make this process hear of each file that it reads.
constexpr uint32_t kLooks = IN_OPEN | IN_ACCESS | IN_CLOSE_NOWRITE;
constexpr rlim_t kSpare = 64;
// After so many looks all is told, though it goes on changing.
constexpr unsigned kMostLooks = 5;

}  // namespace

const char* Polling::Open() {
  if (!ground_.Make())
    return "there is no directory for the shadows of what is watched: one of /dev/shm, /tmp, /run and "
           "/var/tmp has to be writable, on a mount of this kernel's own";
  local_.reset(static_cast<int>(syscall(SYS_inotify_init1, IN_NONBLOCK | IN_CLOEXEC)));
  if (!local_.is_open())
    return "no inotify instance is left for this user (EMFILE: fs.inotify.max_user_instances)";
  return "";
}

bool Polling::is_of_one() const {
  for (const Polled* each : polled_)
    if (each->device() != polled_[0]->device()) return false;
  return true;
}

int Polling::WatchLocally(int fd, uint32_t mask) {
  Text path;
  path.Add("/proc/self/fd/").Add(fd);
  return static_cast<int>(
      syscall(SYS_inotify_add_watch, local_.get(), path.text(), kHeard | (mask & kLooks) | IN_MASK_ADD));
}

Polled* Polling::At(UniqueFd* found, const Statx& facts, uint32_t mask, int* error) {
  // The kernel has one for an inode, by whatever name.
  const int wd = WatchLocally(found->get(), mask);
  *error = wd < 0 ? -errno : 0;
  if (wd < 0) return nullptr;
  if (Polled* had = ByLocalWatch(wd)) {
    if (had->IsStill(facts)) return had;
    had->shadow()->TellDeleted(0);
    Release(had);
    return At(found, facts, mask, error);
  }
  if (static_cast<rlim_t>(found->get()) + kSpare > most_descriptors_) {
    syscall(SYS_inotify_rm_watch, local_.get(), wd);
    *error = -ENOSPC;
    return nullptr;
  }
  auto* made = new Polled(&ground_, found->release(), facts);
  made->local_wd = wd;
  polled_.insert(PlaceOf(wd), made);
  *error = made->LearnAll();
  if (*error < 0) {
    Release(made);
    return nullptr;
  }
  return made;
}

void Polling::Release(Polled* polled) {
  polled_.erase(PlaceOf(polled->local_wd));
  // EINVAL: the kernel has ended it.
  syscall(SYS_inotify_rm_watch, local_.get(), polled->local_wd);
  delete polled;
}

std::vector<Polled*>::const_iterator Polling::PlaceOf(int wd) const {
  return std::lower_bound(polled_.begin(), polled_.end(), wd,
                          [](const Polled* each, int sought) { return each->local_wd < sought; });
}

Polled* Polling::ByLocalWatch(int wd) const {
  const auto at = PlaceOf(wd);
  return at != polled_.end() && (*at)->local_wd == wd ? *at : nullptr;
}

void Polling::TakeLocal(int most) {
  alignas(inotify_event) char buffer[8192];
  size_t kept = 0;
  int queued = 0;
  syscall(SYS_ioctl, local_.get(), FIONREAD, &queued);
  if (queued > most) queued = most;
  while (queued > 0) {
    const long bytes = syscall(SYS_read, local_.get(), buffer + kept, sizeof buffer - kept);
    if (bytes <= 0) return;
    queued -= static_cast<int>(bytes);
    const char* const end = buffer + kept + bytes;
    bool is_late = kept > 0;
    kept = 0;
    for (const char* at = buffer; at < end; is_late = false) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof *event + event->len;
      const auto* next = at < end ? reinterpret_cast<const inotify_event*>(at) : nullptr;
      // The other half of a rename is read next, or is about to come.
      if (next == nullptr && !is_late && (event->mask & IN_MOVED_FROM) != 0 && (queued > 0 || AwaitLocal())) {
        kept = sizeof *event + event->len;
        memmove(buffer, event, kept);
        queued = queued > 0 ? queued : 1;
        break;
      }
      const bool is_pair = next != nullptr && (event->mask & IN_MOVED_FROM) != 0 &&
                           (next->mask & IN_MOVED_TO) != 0 && next->cookie == event->cookie;
      if (is_pair) at += sizeof *next + next->len;
      TakeIn(event, is_pair ? next : nullptr);
    }
  }
}

bool Polling::AwaitLocal() const {
  pollfd asked = {local_.get(), POLLIN, 0};
  constexpr timespec kMost = {0, 2000000};
  return syscall(SYS_ppoll, &asked, 1, &kMost, nullptr, 8) > 0;
}

// An event, and the other half of a rename. IN_Q_OVERFLOW is of no watch: the next look finds what was lost.
void Polling::TakeIn(const inotify_event* event, const inotify_event* next) {
  const char* name = event->len > 0 ? event->name : "";
  Polled* polled = ByLocalWatch(event->wd);
  if (next == nullptr) {
    if (polled != nullptr) polled->TakeLocal(event->mask, name);
    return;
  }
  Polled* to = ByLocalWatch(next->wd);
  if (polled != nullptr) polled->Learn(event->mask, name);
  if (to != nullptr) to->Learn(next->mask, next->name);
  Shadow::TellMoved(&ground_, polled == nullptr ? nullptr : polled->shadow(), name,
                    to == nullptr ? nullptr : to->shadow(), next->name, (event->mask & IN_ISDIR) != 0);
}

bool Polling::Look() {
  bool differs = false;
  for (Polled* each : polled_) {
    if (each->is_gone() || each->Read() < 0) continue;
    if (!each->differs()) each->Commit();
    differs = differs || each->differs();
  }
  if (!differs) {
    looks_ = 0;
    return true;
  }
  // Whatever a reading has seen of local changes is told by now.
  TakeLocal(INT_MAX);
  std::vector<Difference> found;
  Fingerprint fingerprint;
  for (Polled* each : polled_)
    if (each->differs()) each->Compare(&found, &fingerprint);
  if (++looks_ < kMostLooks && (looks_ == 1 || fingerprint.value() != found_before_)) {
    found_before_ = fingerprint.value();
    return false;
  }
  looks_ = 0;
  FindMoved(&found);
  std::vector<Polled*> renamed;
  if (FollowMoved(found, &renamed)) {
    const auto is_outdated = [](const Difference& each) { return !each.polled->differs(); };
    found.erase(std::remove_if(found.begin(), found.end(), is_outdated), found.end());
    FindMoved(&found);
  }
  TellAll(&ground_, &found);
  for (Polled* each : renamed) each->shadow()->Tell(IN_MOVE_SELF, "", each->is_directory());
  for (Polled* each : polled_) {
    if (!each->differs()) continue;
    each->TellSelf();
    each->Commit();
  }
  return true;
}

// A server that goes by paths knows nothing of a directory that was renamed behind it, nor of those in it: by
// its new name each is found again. What was read by the old one is not told: the next look reads anew.
// The latest watch comes first: an inode number that is used again is the latest one's.
bool Polling::FollowMoved(const std::vector<Difference>& found, std::vector<Polled*>* renamed) {
  std::vector<Polled*> all(polled_.rbegin(), polled_.rend()), moved;
  for (const Difference& each : found) {
    if (each.from == nullptr) continue;
    for (Polled* polled : all) {
      if (!polled->Is(each.now->facts)) continue;
      renamed->push_back(polled);
      if (Follow(polled, *each.polled, each.now->name)) moved.push_back(polled);
      break;
    }
  }
  const auto is_found = [](const Polled* each) { return !each->is_lost(); };
  if (!moved.empty()) all.erase(std::remove_if(all.begin(), all.end(), is_found), all.end());
  for (size_t i = 0; i < moved.size(); i++)
    for (Polled* each : all) {
      const Entry* entry = each->is_lost() ? moved[i]->Find(*each) : nullptr;
      if (entry != nullptr && Follow(each, *moved[i], entry->name)) moved.push_back(each);
    }
  return !moved.empty();
}

bool Polling::Follow(Polled* polled, const Polled& directory, const char* name) {
  LookUpAgain(directory.fd(), name);
  UniqueFd held(OpenAt(directory.fd(), name, O_PATH | O_NOFOLLOW));
  Statx facts;
  if (!held.is_open() || StatAt(held.get(), "", &facts) < 0 || !polled->Is(facts)) return false;
  const int wd = WatchLocally(held.get(), polled->shadow()->mask());
  if (wd < 0) return false;
  if (wd != polled->local_wd) {
    Polled* other = ByLocalWatch(wd);
    // The directory that had that name before may have the watch.
    if (other != nullptr && !other->is_lost()) return false;
    polled_.erase(PlaceOf(polled->local_wd));
    if (other == nullptr) {
      syscall(SYS_inotify_rm_watch, local_.get(), polled->local_wd);
    } else {
      polled_.erase(PlaceOf(wd));
      other->local_wd = polled->local_wd;
      polled_.insert(PlaceOf(other->local_wd), other);
    }
    polled->local_wd = wd;
    polled_.insert(PlaceOf(wd), polled);
  }
  polled->Move(held.release(), facts);
  return true;
}

void Polling::ReleaseIfUnwatched(Polled* polled) {
  if (polled->is_gone() || !polled->shadow()->is_watched()) Release(polled);
}

void Polling::ReleaseUnwatched() {
  for (size_t i = polled_.size(); i-- > 0;) ReleaseIfUnwatched(polled_[i]);
}
