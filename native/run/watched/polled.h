#pragma once

#include <sys/inotify.h>

#include <vector>

#include "base/statx.h"
#include "run/watched/listing.h"
#include "run/watched/shadow.h"

class Polled;

// A name that differs between what was told and what is there. An entry that is not there is nullptr. The
// entries are those of `polled`, until it commits.
struct Difference {
  Polled* polled;
  Entry* before;
  Entry* now;
  // The ends of a rename: the one that `before` has gone to, and the one that `now` has come from.
  Difference* to = nullptr;
  Difference* from = nullptr;
  bool is_told = false;
};

// The number is the same where the same things differ: two readings have to agree about it.
class Fingerprint {
 public:
  void Add(uint64_t value) { value_ = (value_ ^ value) * 0x100000001b3; }
  void Add(const char* text) {
    while (*text != '\0') Add(static_cast<uint64_t>(*text++));
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

// A directory or file that a program watches, on a mount that does not tell of all: the kernel's own events
// of it are told on at once, and readings find the rest.
class Polled {
 public:
  // `fd`: of it, by O_PATH.
  Polled(Ground* ground, int fd, const Statx& facts);

  int fd() const { return fd_.get(); }
  Shadow* shadow() { return &shadow_; }
  bool is_directory() const { return facts_.is_directory(); }
  uint64_t device() const { return facts_.device; }
  bool is_gone() const { return is_gone_; }
  // These are its own, wherever it is by now.
  bool Is(const Statx& facts) const;
  // False: another is in its place.
  bool IsStill(const Statx& facts) const;
  // It has another name now, by which `fd` leads to it. What was read by the old one is worth nothing.
  void Move(int fd, const Statx& facts);

  // The kernel's own watch of it, by which local events come.
  int local_wd = -1;

  // Notes the path by which a thread watches a file. It is looked up anew before the file's end is told: the
  // program may then read what has that name now, and the kernel may remember the old one for ever.
  void SetWay(pid_t thread, const char* path);
  // Takes it for what there is now. 0 or -errno.
  int LearnAll();
  // A local event. A rename whose other half comes next is told by TellMoved().
  void TakeLocal(uint32_t event, const char* name);
  // Brings what is known of a name up to date, of which a local event tells.
  void Learn(uint32_t event, const char* name);

  // Reads what is there. 0, or -errno where nothing could be read just now.
  int Read();
  // True: the reading differs from what was told.
  bool differs() const { return differs_; }
  // True: the reading says that it is not there, or not by the name that it had.
  bool is_lost() const { return differs_ && self_ == IN_DELETE_SELF; }
  // The entry of this directory that another is; nullptr if none was told.
  const Entry* Find(const Polled& other) const;
  // Adds to both all that differs, but for what local events have told since Read() began.
  void Compare(std::vector<Difference>* found, Fingerprint* fingerprint);
  // Tells what has happened to the directory itself, or the file. Behind what happened in it.
  void TellSelf();
  // Takes the reading for what was told.
  void Commit();

 private:
  int Ask(const char* name, Statx* facts);
  void TakeLocalSelf(uint32_t kind);
  void TakeLocalEntry(uint32_t kind, const char* name, bool is_directory);
  void ReadSelf();
  int ReadEntries();
  template <typename Each>
  void Walk(Each each);

  UniqueFd fd_;
  Statx facts_;
  Cache cache_;
  Shadow shadow_;
  pid_t watcher_ = 0;
  std::vector<char> way_;
  // The entries that were told, and those that were read.
  Listing known_, seen_;
  Statx seen_facts_;
  // Which events of itself are to be told of what was read.
  uint32_t self_ = 0;
  // The reading, and that in which a local event was about itself.
  uint64_t look_ = 0, self_look_ = 0;
  bool differs_ = false, is_gone_ = false;
};

bool IsSameEntry(const Statx& a, const Statx& b);
bool HasSameContent(const Statx& a, const Statx& b);
bool HasSameRights(const Statx& a, const Statx& b);
bool HasSameKind(const Statx& a, const Statx& b);
