#pragma once

#include <pthread.h>

#include "base/unique_fd.h"
#include "scan/requests.h"
#include "scan/walk_queue.h"

// What is known of a directory from the way to it.
struct Origin {
  Device root_device;
  Cache cache = Cache::kTrue;
  // Whether `cache` is known beforehand: the file system itself is a request to its server.
  bool knows_cache = false;
  bool may_be_stale() const { return cache != Cache::kTrue; }
};

// Opens the directories of one walk, O_PATH: nothing in them is touched yet, and no server asked.
class Opener {
 public:
  Opener(const Requests* requests, pthread_mutex_t* lock, WalkQueue* backlog)
      : requests_(requests), lock_(lock), backlog_(backlog) {}

  // All give a descriptor or -errno. A process that has none left gets back what the backlog holds.
  int Open(int directory, const char* name, int flags);
  int OpenJob(const Job& job, Origin* origin, Statx* facts);

  // The request's directory alone, which lies on what is cached like this: 0 or -errno.
  int LookAt(const Request& request, Cache cache, Statx* facts);

 private:
  // Enough that going back up a deep tree goes down again from its root but rarely.
  static constexpr size_t kKept = 32;

  // The directories on the way down to one that is opened again: the last few are kept for their own turn.
  struct Descent {
    Node** line;
    size_t length;
    UniqueFd fds[kKept];
    UniqueFd& fd(size_t index) { return fds[index % kKept]; }
    ~Descent();
  };

  int OpenRequest(const Request& request, Origin* origin, Statx* facts);
  int OpenChild(int parent, const char* name, const Origin& origin, Statx* facts);
  int Reopen(Node* node, UniqueFd* own);
  int GoDown(Descent* descent, Node* from);
  int OpenBelow(Descent* descent, size_t index, int parent);
  int KeepForTheirTurn(Descent* descent, UniqueFd* own);

  const Requests* requests_;
  pthread_mutex_t* lock_;
  WalkQueue* backlog_;
};
