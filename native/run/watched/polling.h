#pragma once

#include <sys/resource.h>

#include <vector>

#include "base/unique_fd.h"
#include "run/watched/polled.h"
#include "run/watched/shadow.h"
#include "run/watched/telling.h"

// All that is polled: local events of it are taken in at once, what others do is found by looks.
class Polling {
 public:
  // Says in a sentence what is in the way; "" if nothing is.
  const char* Open();
  // Before this process ends.
  void RemoveGround() { ground_.Remove(); }
  // Readable when there are local events: see TakeLocal().
  int fd() const { return local_.get(); }
  // From now on no watch takes one of the last descriptors that this process may have: the looks need some.
  void LimitDescriptors(rlim_t most) { most_descriptors_ = most; }
  size_t size() const { return polled_.size(); }
  // True: all that is polled lies on one file system.
  bool is_of_one() const;

  // Polls what `found` is from now on, if it was not polled, with its entries as they are. `found` may be
  // taken. nullptr, and -errno in *error.
  // `mask`: the events that are asked for.
  Polled* At(UniqueFd* found, const Statx& facts, uint32_t mask, int* error);
  void ReleaseIfUnwatched(Polled* polled);
  void ReleaseUnwatched();

  // Tells on what local events say that are queued by now, up to so many bytes: callers wait meanwhile. By
  // default some hundred, which takes some ms.
  void TakeLocal(int most = 8192);
  // Looks at what others have done, and tells that if the look before has found the same. False: something
  // differs, and it is to be looked at once more, some ms later. A reading in the midst of a change is not
  // told, nor is a local change whose event is about to come.
  bool Look();

 private:
  // False if no local event comes within some ms.
  bool AwaitLocal() const;
  void TakeIn(const inotify_event* event, const inotify_event* next);
  bool FollowMoved(const std::vector<Difference>& found, std::vector<Polled*>* renamed);
  bool Follow(Polled* polled, const Polled& directory, const char* name);
  int WatchLocally(int fd, uint32_t mask);
  void Release(Polled* polled);
  std::vector<Polled*>::const_iterator PlaceOf(int wd) const;
  Polled* ByLocalWatch(int wd) const;

  Ground ground_;
  UniqueFd local_;
  // In the order of their local watches.
  std::vector<Polled*> polled_;
  rlim_t most_descriptors_ = RLIM_INFINITY;
  // The fingerprint of the look before, and how many looks in turn have found anything.
  uint64_t found_before_ = 0;
  unsigned looks_ = 0;
};
