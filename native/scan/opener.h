#pragma once

#include <pthread.h>

#include "base/unique_fd.h"
#include "scan/requests.h"
#include "scan/walk_queue.h"
#include "scan/way_cache.h"

// Opens the directories of one walk, O_PATH: nothing in them is touched yet, and no server asked.
class Opener {
 public:
  Opener(const Requests* requests, WayCache* ways, pthread_mutex_t* lock, WalkQueue* walk_queue)
      : requests_(requests), ways_(ways), lock_(lock), walk_queue_(walk_queue) {}

  // All give a descriptor or -errno. A process that has none left gets back what the ways and the queue hold.
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

  // The progress of the opening of a request.
  struct Stage {
    WayCache* ways;
    // Either of the two is open.
    WayStep* kept;
    UniqueFd own;
    Stage(WayCache* from, WayStep* at) : ways(from), kept(at) {}
    ~Stage() { Leave(); }
    int fd() const { return kept != nullptr ? kept->fd : own.get(); }
    void MoveTo(UniqueFd* next);
    void Leave();
  };

  int OpenRequest(const Request& request, Origin* origin, Statx* facts);
  int OpenRoot(const Request& request, Origin* origin, Statx* facts);
  int OpenChild(int parent, const char* name, const Origin& origin, Statx* facts);
  int Reopen(Node* node, UniqueFd* own);
  int GoDown(Descent* descent, Node* from);
  int OpenBelow(Descent* descent, size_t index, int parent);
  int KeepForTheirTurn(Descent* descent, UniqueFd* own);

  const Requests* requests_;
  WayCache* ways_;
  pthread_mutex_t* lock_;
  WalkQueue* walk_queue_;
};
