#include "run/watched/polled.h"

#include <errno.h>
#include <fcntl.h>

#include "run/base/directory_reader.h"
#include "run/caller.h"

namespace {

constexpr char kData[] = "..data", kDraft[] = "..data_tmp";

bool IsPassing(int error) {
  return error != -ENOENT && error != -ESTALE && error != -ENOTDIR;
}

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
bool IsSame(const Statx& a, const Statx& b) {
  return HasSameKind(a, b) && (a.ino == b.ino || (HasSameContent(a, b) && a.ctime == b.ctime));
}

bool IsUnchanged(const Statx& a, const Statx& b) {
  if (!IsSame(a, b) || !HasSameRights(a, b)) return false;
  return a.is_directory() || (HasSameContent(a, b) && a.ctime == b.ctime);
}

}  // namespace

Polled::Polled(Ground* ground, int fd, const Statx& facts)
    : fd_(fd), facts_(facts), cache_(CacheOf(fd)), shadow_(ground, facts.is_directory()) {}

bool Polled::Ask(const char* name, Statx* facts) {
  if (cache_ != Cache::kTrue) LookUpAgain(fd_.get(), name);
  return StatAt(fd_.get(), name, facts, cache_ == Cache::kNamesAndAttributes) == 0;
}

void Polled::Learn(const char* name) {
  Statx facts;
  if (Ask(name, &facts))
    known_.Set(name, facts, look_);
  else
    known_.SetGone(name, look_);
}

void Polled::SetWay(pid_t thread, const char* path) {
  watcher_ = thread;
  way_.Clear();
  for (const char* at = path; *at != '\0'; at++) way_.Add(*at);
  way_.Add('\0');
}

int Polled::LearnAll() {
  if (!is_directory()) return 0;
  if (!BeginLook()) return is_gone_ ? -ENOENT : -EIO;
  known_.Swap(&seen_);
  return 0;
}

void Polled::TakeLocal(uint32_t event, const char* name) {
  const uint32_t kind = event & IN_ALL_EVENTS;
  constexpr uint32_t kChanges = IN_CREATE | IN_MOVE | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE;
  constexpr uint32_t kLooks = IN_OPEN | IN_ACCESS | IN_CLOSE_NOWRITE;
  if ((event & IN_DELETE_SELF) != 0) {
    shadow_.TellDeleted(is_directory() ? 0 : IN_ATTRIB);
    is_gone_ = true;
  } else if ((event & (IN_UNMOUNT | IN_IGNORED)) != 0) {
    shadow_.TellIgnored();
    is_gone_ = true;
  } else if (*name == '\0') {
    // This process opens a directory to look at it: those events are its own.
    if (is_directory() && (kind & kLooks) != 0) return;
    if (!is_directory()) Ask("", &facts_);
    shadow_.Tell(kind, "", is_directory());
  } else {
    if ((kind & kChanges) != 0) Learn(name);
    shadow_.Tell(kind, name, (event & IN_ISDIR) != 0);
  }
}

bool Polled::BeginLook() {
  look_++;
  DirectoryReader reader(fd_.get(), ".");
  Listing seen;
  while (const char* name = reader.Next()) {
    Statx facts;
    if (Ask(name, &facts)) seen.Add(Entry::Make(name, facts, look_));
  }
  if (reader.error() < 0) {
    if (IsPassing(reader.error())) return false;
    shadow_.TellDeleted(0);
    is_gone_ = true;
    return false;
  }
  seen.Sort();
  seen_.Swap(&seen);
  return true;
}

void Polled::EndLook(Vector<Difference>* found) {
  Listing next;
  size_t old = 0, now = 0;
  while (old < known_.size() || now < seen_.size()) {
    Entry* before = old < known_.size() ? known_[old] : nullptr;
    Entry* after = now < seen_.size() ? seen_[now] : nullptr;
    const int order = before == nullptr ? 1 : after == nullptr ? -1 : strcmp(before->name, after->name);
    if (order <= 0) old++;
    if (order >= 0) now++;
    if (order > 0) before = nullptr;
    if (order < 0) after = nullptr;
    // A local event has told of it since the look began: what that knew is newer.
    if (before != nullptr && before->look == look_) {
      Entry::Destroy(after);
      if (before->is_gone)
        Entry::Destroy(before);
      else
        next.Add(before);
      continue;
    }
    if (before != nullptr && before->is_gone) {
      Entry::Destroy(before);
      before = nullptr;
    }
    if (after != nullptr) next.Add(after);
    if (before != nullptr && after != nullptr && IsUnchanged(before->facts, after->facts))
      Entry::Destroy(before);
    else if (before != nullptr || after != nullptr)
      // A copy: local events may change the entry before it is told.
      found->Add({this, before, after == nullptr ? nullptr : Entry::Make(after->name, after->facts, look_),
                  nullptr});
  }
  known_.Release();
  seen_.Release();
  known_.Swap(&next);
}

void Polled::LookAtSelf() {
  Statx now;
  const int error = StatAt(fd_.get(), "", &now, true);
  if (error < 0 && IsPassing(error)) return;
  const bool is_deleted = error < 0 || now.nlink == 0;
  if (is_directory() || is_deleted) {
    if (is_deleted) {
      // Whoever hears of it may read what has that name now.
      LookUpWay(watcher_, way_.begin());
      shadow_.TellDeleted(0);
      is_gone_ = true;
    } else if (!HasSameRights(facts_, now)) {
      shadow_.Tell(IN_ATTRIB, "", true);
    }
  } else if (!HasSameContent(facts_, now)) {
    shadow_.Tell(IN_MODIFY, "", false);
    shadow_.Tell(IN_CLOSE_WRITE, "", false);
  } else if (!HasSameRights(facts_, now) || facts_.ctime != now.ctime) {
    shadow_.Tell(IN_ATTRIB, "", false);
  }
  facts_ = now;
}

namespace {

// A name that leads to something else than before: new, or renamed over what it was.
bool IsNew(const Difference& each) {
  return each.now != nullptr && (each.before == nullptr || !IsSame(each.before->facts, each.now->facts));
}

bool IsGone(const Difference& each) {
  return each.before != nullptr && (each.now == nullptr || !IsSame(each.before->facts, each.now->facts));
}

bool IsMoved(const Statx& from, const Statx& to) {
  return from.ino == to.ino && from.device == to.device && HasSameKind(from, to) &&
         (from.is_directory() || HasSameContent(from, to));
}

// Pairs an entry that has left one name with the one that has come to another.
void FindMoved(Vector<Difference>* found) {
  Vector<Difference*> fresh;
  for (Difference& each : *found) {
    if (!IsNew(each)) continue;
    const uint64_t ino = each.now->facts.ino;
    fresh.Insert(fresh.Place([ino](const Difference* other) {
      return other->now->facts.ino < ino ? -1 : other->now->facts.ino > ino;
    }),
                 &each);
  }
  for (Difference& each : *found) {
    // An entry that another was moved over is gone, and has gone nowhere.
    if (!IsGone(each) || each.now != nullptr) continue;
    const uint64_t ino = each.before->facts.ino;
    for (size_t at =
             fresh.Place([ino](const Difference* other) { return other->now->facts.ino < ino ? -1 : 1; });
         at < fresh.size() && fresh[at]->now->facts.ino == ino; at++) {
      if (fresh[at]->other != nullptr || !IsMoved(each.before->facts, fresh[at]->now->facts)) continue;
      each.other = fresh[at];
      fresh[at]->other = &each;
      break;
    }
  }
}

void TellNew(Ground* ground, const Difference& each) {
  Shadow* shadow = each.polled->shadow();
  const Entry& now = *each.now;
  const bool is_directory = now.facts.is_directory();
  if (each.other != nullptr) {
    Shadow* from = each.other->polled->shadow();
    Shadow::TellMoved(ground, from, each.other->before->name, shadow, now.name, is_directory);
    return;
  }
  if (strcmp(now.name, kData) == 0 && !is_directory) {
    // The AtomicWriter's swap (k8s.io/kubernetes/pkg/volume/util): the draft is renamed too soon for any
    // look.
    shadow->Tell(IN_CREATE, kDraft, false);
    Shadow::TellMoved(ground, shadow, kDraft, shadow, kData, false);
    return;
  }
  if (each.before != nullptr && HasSameKind(each.before->facts, now.facts)) {
    shadow->Tell(IN_MOVED_TO, now.name, is_directory);
    return;
  }
  if (each.before != nullptr) shadow->Tell(IN_DELETE, now.name, each.before->facts.is_directory());
  shadow->Tell(IN_CREATE, now.name, is_directory);
  if (!now.facts.is_file()) return;
  if (now.facts.size > 0) shadow->Tell(IN_MODIFY, now.name, false);
  shadow->Tell(IN_CLOSE_WRITE, now.name, false);
}

void TellChanged(const Difference& each) {
  Shadow* shadow = each.polled->shadow();
  const Entry& now = *each.now;
  if (now.facts.is_file() && !HasSameContent(each.before->facts, now.facts)) {
    shadow->Tell(IN_MODIFY, now.name, false);
    shadow->Tell(IN_CLOSE_WRITE, now.name, false);
    if (HasSameRights(each.before->facts, now.facts)) return;
  }
  shadow->Tell(IN_ATTRIB, now.name, now.facts.is_directory());
}

}  // namespace

void TellAll(Ground* ground, Vector<Difference>* found) {
  FindMoved(found);
  auto is_link = [](const Difference& each) { return strcmp(each.now->name, kData) == 0; };
  // A new version comes before what leads to it, and what an old one was goes last.
  for (const Difference& each : *found)
    if (IsNew(each) && each.now->facts.is_directory()) TellNew(ground, each);
  for (const Difference& each : *found)
    if (IsNew(each) && !each.now->facts.is_directory() && is_link(each)) TellNew(ground, each);
  for (const Difference& each : *found) {
    if (each.now == nullptr || (IsNew(each) && (each.now->facts.is_directory() || is_link(each)))) continue;
    if (IsNew(each))
      TellNew(ground, each);
    else
      TellChanged(each);
  }
  for (const Difference& each : *found)
    if (each.now == nullptr && each.other == nullptr)
      each.polled->shadow()->Tell(IN_DELETE, each.before->name, each.before->facts.is_directory());
  for (const Difference& each : *found) {
    Entry::Destroy(each.before);
    Entry::Destroy(each.now);
  }
  found->Clear();
}
