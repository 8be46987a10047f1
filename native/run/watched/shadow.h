#pragma once

#include <stdint.h>

#include <vector>

#include "base/text.h"
#include "base/unique_fd.h"
#include "run/watched/instance.h"

// The directory in which all shadows lie, of this process alone, on a mount that tells of all that happens
// there.
class Ground {
 public:
  // Makes it in the first of several places that can be written to, and removes those of processes that have
  // been killed. False if there is none.
  bool Make();
  void Remove();

  int fd() const { return fd_.get(); }
  uint64_t NextNumber() { return next_++; }
  // An entry of a shadow. Says once that there is no room for one: what it was for is not told then.
  void MakeEntry(const char* path, bool is_directory);

 private:
  bool MakeIn(const char* place);
  bool MakeOwn();

  UniqueFd place_;
  UniqueFd fd_;
  Text name_;
  uint64_t next_ = 0;
  bool is_full_ = false;
};

// Stands for a directory or a file on a mount that tells of nothing. The program's watch of that is a watch
// of this: what happened there is done here, so that the kernel itself tells of it, in the program's own
// inotify instance, with its masks, its order, its cookies and its queue. What has to be done besides is done
// while the watches are blind to it.
class Shadow {
 public:
  Shadow(Ground* ground, bool is_directory);
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  // As inotify_add_watch(2): a watch descriptor, or -errno. ENOSPC also where there is no room for a shadow.
  int Watch(Instance* instance, uint32_t mask);
  // The watch is not there any more.
  void Forget(const Instance* instance, int wd);
  bool is_watched() const { return !subscriptions_.empty(); }
  // All events that any watch asks for.
  uint32_t mask() const;

  // One event about a name in the directory, or with "" about itself. `is_unlinked`: the name is gone, and
  // the file still open.
  void Tell(uint32_t event, const char* name, bool is_directory, bool is_unlinked = false);
  // A rename is told to both, with one cookie. Either may be nullptr: what is there is not watched.
  static void TellMoved(Ground* ground, Shadow* from, const char* name, Shadow* to, const char* new_name,
                        bool is_directory);
  // IN_DELETE_SELF, and IN_IGNORED: all watches end. `told`: events that come with that, and have been told.
  void TellDeleted(uint32_t told);
  // IN_IGNORED alone.
  void TellIgnored();

 private:
  struct Subscription {
    Instance* instance;
    int wd;
    uint32_t mask;
  };

  void Show(bool is_shown, uint32_t hidden = 0);
  void Fired(uint32_t event);
  void Drop(size_t at);
  Text PathTo(const char* name) const;
  void TellOpened(uint32_t event, const char* path, bool is_directory);

  Ground* ground_;
  uint64_t number_;
  bool is_directory_;
  bool is_there_;
  bool is_shown_ = true;
  // While it is shown, whoever asked for IN_EXCL_UNLINK does not see it.
  bool is_unlinked_ = false;
  std::vector<Subscription> subscriptions_;
};
