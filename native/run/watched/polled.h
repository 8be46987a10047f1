#pragma once

#include <sys/inotify.h>

#include "base/statx.h"
#include "run/watched/listing.h"
#include "run/watched/shadow.h"

// A name that differs between two looks. An entry that is not there is nullptr; both are owned by whoever has
// it.
struct Difference {
  Polled* polled;
  Entry* before;
  Entry* now;
  // The other end of a rename: the name that it was, or is now.
  Difference* other;
};

// A directory or file that a program watches, on a mount that does not tell of all: the kernel's own events
// of it are told on at once, and what else a look finds.
class Polled {
 public:
  // `fd`: of it, by O_PATH.
  Polled(Ground* ground, int fd, const Statx& facts);

  const Statx& facts() const { return facts_; }
  int fd() const { return fd_.get(); }
  Shadow* shadow() { return &shadow_; }
  bool is_directory() const { return facts_.is_directory(); }

  // The kernel's own watch of it, by which local events come: -1 if there is none.
  int local_wd = -1;

  // The path by which a thread watches it: what is to be looked up anew when it has gone, before that is
  // told.
  void SetWay(pid_t thread, const char* path);

  // Takes it for what there is now. 0 or -errno.
  int LearnAll();
  // A local event. A rename whose other half comes next is told by TellMoved().
  void TakeLocal(uint32_t event, const char* name);
  // Brings what is known of a name up to date.
  void Learn(const char* name);

  // A look: it begins, what comes of local events meanwhile is taken in, and it ends.
  bool BeginLook();
  void EndLook(Vector<Difference>* found);
  // The directory itself, or a file.
  void LookAtSelf();
  bool is_gone() const { return is_gone_; }

 private:
  bool Ask(const char* name, Statx* facts);

  UniqueFd fd_;
  Statx facts_;
  Cache cache_;
  Shadow shadow_;
  pid_t watcher_ = 0;
  Vector<char> way_;
  Listing known_;
  Listing seen_;
  uint64_t look_ = 0;
  bool is_gone_ = false;
};

// Tells what several looks have found, as somebody would have heard of it who watched while it was done.
void TellAll(Ground* ground, Vector<Difference>* found);
