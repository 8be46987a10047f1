#include "run/watched/polled.h"

#include <errno.h>

#include <initializer_list>

#include "run/base/names.h"
#include "run/caller.h"

namespace {

constexpr uint32_t kChanges = IN_CREATE | IN_MOVE | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE;

bool IsPassing(int error) {
  return error != -ENOENT && error != -ESTALE && error != -ENOTDIR;
}

bool IsUnchanged(const Statx& a, const Statx& b) {
  if (!IsSameEntry(a, b) || !HasSameRights(a, b)) return false;
  if (a.is_directory()) return true;
  // link(2) and unlink(2) of another name set the ctime: only who watches the file itself hears of that.
  return HasSameContent(a, b) && (a.ctime == b.ctime || a.nlink != b.nlink);
}

}  // namespace

bool HasSameContent(const Statx& a, const Statx& b) {
  return a.size == b.size && a.mtime == b.mtime;
}

bool HasSameKind(const Statx& a, const Statx& b) {
  return (a.mode & 0170000) == (b.mode & 0170000);
}

bool HasSameRights(const Statx& a, const Statx& b) {
  return a.mode == b.mode && a.uid == b.uid && a.gid == b.gid;
}

// A number alone may be another one each time that a FUSE server is asked.
bool IsSameEntry(const Statx& a, const Statx& b) {
  return HasSameKind(a, b) && (a.ino == b.ino || (HasSameContent(a, b) && a.ctime == b.ctime));
}

Polled::Polled(Ground* ground, int fd, const Statx& facts)
    : fd_(fd), facts_(facts), cache_(CacheOf(fd)), shadow_(ground, facts.is_directory()) {}

bool Polled::IsStill(const Statx& facts) const {
  return !is_gone_ && IsSameEntry(facts_, facts);
}

const Entry* Polled::Find(const Polled& other) const {
  for (size_t i = 0; i < known_.size(); i++)
    if (other.Is(known_[i]->facts)) return known_[i];
  return nullptr;
}

void Polled::Move(int fd, const Statx& facts) {
  fd_.reset(fd);
  // A rename sets it.
  facts_.ctime = facts.ctime;
  differs_ = false;
}

bool Polled::Is(const Statx& facts) const {
  return !is_gone_ && HasSameKind(facts_, facts) && facts_.ino == facts.ino && facts_.device == facts.device;
}

int Polled::Ask(const char* name, Statx* facts) {
  if (cache_ != Cache::kTrue) LookUpAgain(fd_.get(), name);
  return StatAt(fd_.get(), name, facts, cache_ == Cache::kNamesAndAttributes);
}

void Polled::Learn(uint32_t event, const char* name) {
  const Entry* had = known_.Find(name);
  const bool was_there = had != nullptr && (!had->is_gone || had->is_leaving);
  Statx facts;
  const int error = Ask(name, &facts);
  if (error == 0) {
    known_.Set(name, facts, look_);
  } else if (!IsPassing(error)) {
    const bool has_come = was_there || (event & (IN_CREATE | IN_MOVED_TO)) != 0;
    const bool has_left = (event & (IN_DELETE | IN_MOVED_FROM)) != 0;
    known_.SetGone(name, look_)->is_leaving = has_come && !has_left;
  }
}

void Polled::SetWay(pid_t thread, const char* path) {
  if (is_directory()) return;
  watcher_ = thread;
  way_.assign(path, path + strlen(path) + 1);
}

int Polled::LearnAll() {
  if (!is_directory()) return 0;
  const int error = Read();
  if (error == 0) Commit();
  return error;
}

void Polled::TakeLocal(uint32_t event, const char* name) {
  const uint32_t kind = event & IN_ALL_EVENTS;
  // This process opens directories to look at them: those events are its own.
  if ((event & IN_ISDIR) != 0 && (kind & (IN_OPEN | IN_ACCESS | IN_CLOSE_NOWRITE)) != 0) return;
  if ((event & IN_DELETE_SELF) != 0) {
    shadow_.TellDeleted(is_directory() ? 0 : IN_ATTRIB);
    is_gone_ = true;
  } else if ((event & (IN_UNMOUNT | IN_IGNORED)) != 0) {
    shadow_.TellIgnored();
    is_gone_ = true;
  } else if (*name == '\0') {
    TakeLocalSelf(kind);
  } else {
    TakeLocalEntry(kind, name, (event & IN_ISDIR) != 0);
  }
}

void Polled::TakeLocalSelf(uint32_t kind) {
  const Statx before = facts_;
  int error = 0;
  if ((kind & (kChanges | IN_MOVE_SELF)) != 0 && fd_.is_open()) {
    self_look_ = look_;
    error = StatAt(fd_.get(), "", &facts_, true);
  }
  shadow_.Tell(kind, "", is_directory());
  if (kind != IN_ATTRIB) return;
  // Another size is of a write by others, which the next look finds.
  facts_.size = before.size;
  // The last name is gone. The kernel tells the rest as soon as nobody has the file open, this process
  // neither.
  const bool is_unlinked = error == -ENOENT || error == -ESTALE || (facts_.nlink == 0 && before.nlink != 0);
  if (is_unlinked && !is_directory()) fd_.reset();
}

void Polled::TakeLocalEntry(uint32_t kind, const char* name, bool is_directory) {
  Entry* known = known_.Find(name);
  const bool is_new = known == nullptr;
  const bool was_removed = !is_new && known->is_removed;
  const uint64_t size = is_new ? 0 : known->facts.size;
  if ((kind & kChanges) != 0) Learn(kind, name);
  known = known_.Find(name);
  if (kind == IN_ATTRIB && !is_new) known->facts.size = size;
  const bool is_gone = known != nullptr && known->is_gone;
  if (kind == IN_DELETE && is_gone) known->is_removed = true;
  // Others have made it since the last look.
  if (is_new && !is_gone && (kind & (IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE)) != 0)
    shadow_.Tell(IN_CREATE, name, is_directory);
  // IN_EXCL_UNLINK is about the events of open files alone.
  constexpr uint32_t kOfOpen = IN_OPEN | IN_ACCESS | IN_MODIFY | IN_CLOSE;
  shadow_.Tell(kind, name, is_directory, is_gone && (is_new || was_removed) && (kind & kOfOpen) != 0);
}

void Polled::ReadSelf() {
  self_ = 0;
  const int error = StatAt(fd_.get(), "", &seen_facts_, true);
  if (error < 0 && IsPassing(error))
    seen_facts_ = facts_;
  else if (error < 0 || !IsSameEntry(facts_, seen_facts_) ||
           // Some servers count no links.
           (seen_facts_.nlink == 0 && facts_.nlink != 0))
    self_ = IN_DELETE_SELF;
  else if (is_directory())
    self_ = HasSameRights(facts_, seen_facts_) ? 0 : IN_ATTRIB;
  else if (!HasSameContent(facts_, seen_facts_))
    self_ = IN_MODIFY | IN_CLOSE_WRITE;
  else if (!HasSameRights(facts_, seen_facts_) || facts_.ctime != seen_facts_.ctime)
    self_ = IN_ATTRIB;
}

int Polled::ReadEntries() {
  const int ended = ForEachName(fd_.get(), ".", [&](int, const char* name) {
    Statx facts;
    const int error = Ask(name, &facts);
    const Entry* known = error < 0 && IsPassing(error) ? known_.Find(name) : nullptr;
    if (error == 0 || known != nullptr)
      seen_.Add(Entry::Make(name, known == nullptr ? facts : known->facts, look_));
  });
  seen_.Sort();
  return ended;
}

int Polled::Read() {
  look_++;
  differs_ = false;
  seen_.Clear();
  if (!fd_.is_open()) return -ENOENT;
  ReadSelf();
  const int error = is_directory() && self_ != IN_DELETE_SELF ? ReadEntries() : 0;
  if (error < 0 && IsPassing(error)) {
    self_ = 0;
    return error;
  }
  if (error < 0) {
    seen_.Clear();
    self_ = IN_DELETE_SELF;
  }
  std::vector<Difference> found;
  Fingerprint fingerprint;
  Compare(&found, &fingerprint);
  differs_ = !found.empty() || self_ != 0;
  return 0;
}

// Gives each name's entry that was told, and the one that was read; nullptr where there is none.
template <typename Each>
void Polled::Walk(Each each) {
  size_t old = 0, now = 0;
  while (old < known_.size() || now < seen_.size()) {
    Entry* before = old < known_.size() ? known_[old] : nullptr;
    Entry* after = now < seen_.size() ? seen_[now] : nullptr;
    const int order = before == nullptr ? 1 : after == nullptr ? -1 : strcmp(before->name, after->name);
    if (order <= 0) old++;
    if (order >= 0) now++;
    each(order > 0 ? nullptr : before, order < 0 ? nullptr : after);
  }
}

void Polled::Compare(std::vector<Difference>* found, Fingerprint* fingerprint) {
  if (self_look_ == look_) self_ &= IN_DELETE_SELF;
  Walk([&](Entry* before, Entry* now) {
    // A local event has told of it since the reading began: what that knew is newer.
    if (before != nullptr && before->look == look_) return;
    if (before != nullptr && before->is_gone) before = nullptr;
    if (before == nullptr && now == nullptr) return;
    if (before != nullptr && now != nullptr && IsUnchanged(before->facts, now->facts)) return;
    found->push_back({this, before, now});
    fingerprint->Add(before == nullptr ? now->name : before->name);
    const bool is_same = before != nullptr && now != nullptr && IsSameEntry(before->facts, now->facts);
    // A file that is being written to differs from each reading to the next.
    fingerprint->Add(now == nullptr ? 0 : now->facts.ino);
    fingerprint->Add(is_same ? HasSameContent(before->facts, now->facts) : 2);
  });
  fingerprint->Add(self_);
  fingerprint->Add(static_cast<uint64_t>(local_wd));
}

void Polled::TellSelf() {
  if (self_ == IN_DELETE_SELF) {
    if (!way_.empty()) LookUpWay(watcher_, way_.data());
    shadow_.TellDeleted(0);
    is_gone_ = true;
  } else {
    for (uint32_t event : {IN_MODIFY, IN_CLOSE_WRITE, IN_ATTRIB})
      if ((self_ & event) != 0) shadow_.Tell(event, "", is_directory());
  }
}

void Polled::Commit() {
  std::vector<Entry*> all;
  Walk([&](Entry* before, Entry* now) {
    const bool is_newer = before != nullptr && before->look == look_;
    // An entry that is about to leave has events to come that are of no unlinked file: see TakeLocalEntry().
    Entry* kept = is_newer ? (before->is_gone && !before->is_leaving ? nullptr : before) : now;
    if (kept != nullptr) all.push_back(kept);
    if (kept != before) Entry::Destroy(before);
    if (kept != now) Entry::Destroy(now);
  });
  known_.Release();
  seen_.Release();
  for (Entry* each : all) known_.Add(each);
  if (self_look_ != look_) facts_ = seen_facts_;
  self_ = 0;
  differs_ = false;
}
