#pragma once

#include <pthread.h>

#include "base/unique_fd.h"
#include "scan/requests.h"
#include "scan/walk_queue.h"

// The facts about a directory that the way to it tells.
struct Origin {
  uint64_t root_device = 0;
  Cache cache = Cache::kTrue;
  // True: `cache` is not to be asked for, as the question for the file system is itself a request to its
  // server: it is known beforehand, or nothing is looked at.
  bool knows_cache = false;
  bool may_be_stale() const { return cache != Cache::kTrue; }
};

// Opens the directories of one walk, O_PATH: nothing in them is touched yet, and no server asked. Each thread
// of a walk has one.
class Opener {
 public:
  Opener(const Requests* requests, pthread_mutex_t* lock, WalkQueue* walk_queue)
      : requests_(requests), lock_(lock), walk_queue_(walk_queue) {}

  // All give a descriptor or -errno. A process that has none left gets back what is held for later.
  // `resolve`: openat2(2)'s.
  int Open(int directory, const char* path, int flags, uint64_t resolve = 0);
  int OpenJob(const Job& job, Origin* origin, Statx* facts);

  // The request's directory alone, which lies on what is cached like this: 0 or -errno.
  int LookAt(const Request& request, Cache cache, Statx* facts);

  // Closes what is kept for the next request: it keeps a mount busy.
  void ForgetParent();

 private:
  // The directory that the last request's last name is in. Requests come by their paths: the next begins
  // there most often, or has names in common with it, which have been looked up anew in this pass.
  struct Parent {
    const Request* request = nullptr;
    UniqueFd fd;
    Origin origin;
    Statx facts;
  };

  int OpenRequest(const Request& request, Origin* origin, Statx* facts);
  int OpenParent(const Request& request, Origin origin);
  int OpenRoot(const Request& request, Origin* origin, Statx* facts);
  int OpenChild(int parent, const char* name, const Origin& origin, Statx* facts);
  int Reopen(const Job& job, UniqueFd* own);
  int GoDown(int from, const char* names, size_t count, size_t known, Origin* origin, Statx* facts,
             UniqueFd* own);
  int OpenTogether(int directory, const char* names, size_t* count);

  const Requests* requests_;
  pthread_mutex_t* lock_;
  WalkQueue* walk_queue_;
  Parent parent_;
};
