#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <memory>
#include <vector>

#include "base/unique_fd.h"

class Polled;

// One watch of a program's inotify instance, of what is polled.
struct Watch {
  int wd;
  Polled* polled;
};

// An inotify instance of the program: an ordinary one of the kernel's, which is held here as well.
class Instance {
 public:
  Instance(int fd, uint64_t id) : fd_(fd), id_(id) {}

  int fd() const { return fd_.get(); }
  uint64_t id() const { return id_; }

  // nullptr: of what is not polled, or none.
  Polled* Find(int wd) const;
  void Note(int wd, Polled* polled);
  void Forget(int wd);
  const std::vector<Watch>& watches() const { return watches_; }

  // The place where it was last seen, and how often in turn it was not since.
  pid_t holder = 0;
  int number = -1;
  unsigned unseen = 0;

 private:
  std::vector<Watch>::const_iterator Place(int wd) const;

  UniqueFd fd_;
  uint64_t id_;
  std::vector<Watch> watches_;
};

class Instances {
 public:
  // As inotify_init1(2); nullptr, and errno's number in *error.
  Instance* Make(int flags, int* error);
  // Before there are any: PROGRAM may get others, which were not made here.
  void NoteInherited();
  // The one that a thread calls by a descriptor; nullptr if that is no instance that was made here.
  Instance* Of(pid_t thread, int fd, bool is_of_the_program = true);
  void Drop(Instance* instance);
  // Finds those that no process has any more, as two looks in turn say. In between a descriptor may be on its
  // way from one process to another.
  void FindClosed(std::vector<Instance*>* closed);

 private:
  void FindHolders();

  std::vector<std::unique_ptr<Instance>> all_;
  uint64_t next_id_ = 1;
  bool is_any_inherited_ = false;
};
