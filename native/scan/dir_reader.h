#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "base/listed_entries.h"
#include "record/digest_cache.h"
#include "record/record.h"
#include "scan/opener.h"
#include "scan/requests.h"
#include "scan/stat_only.h"
#include "scan/walk_queue.h"

// Visits one directory after another: opens it, watches it, lists it, and makes its record. Each thread of a
// walk has one.
class DirReader {
 public:
  struct Plan {
    const Requests* requests;
    // -1 where nothing is watched.
    int queue;
    uint32_t mask;
    const std::atomic<bool>* cancelled;
    // The digests that need not be told again (kCompare).
    const DigestCache* memory;
    // One for each request (kStatOnly).
    StatOnly* stat_only;
  };

  DirReader(const Plan& plan, pthread_mutex_t* lock, WalkQueue* walk_queue)
      : plan_(plan), opener_(plan.requests, lock, walk_queue) {}
  ~DirReader();
  DirReader(const DirReader&) = delete;
  DirReader& operator=(const DirReader&) = delete;

  // Returns the directory if there are subdirectories of it to be walked, to be pushed to the queue.
  Node* Visit(const Job& job);
  // Closes what it has open.
  void EndPass() { opener_.ForgetParent(); }
  // Returns the findings, valid until the next visit.
  Record* record() { return &record_; }

 private:
  Node* Explore(const Job& job, Origin* origin);
  void Compare(const Job& job, const Request& request);
  void Look(int directory, const Request& request, const Origin& origin);
  int Watch(int directory);
  int AddWatch(const char* path);
  bool GoTo(int directory);
  int List(int directory, const Request& request, const Origin& origin);
  void AddListed(int directory, const ListedEntry& entry, const Request& request, const Origin& origin);
  int Ask(int directory, const char* name, const Origin& origin, Statx* facts);
  void AddWhole(int directory, const char* name, const Request& request, const Origin& origin,
                const Statx& facts);
  int Hash(int directory, const char* name, const Statx& facts, bool may_be_stale, Digest* digest);
  int OpenFile(int file);
  bool is_cancelled() const { return plan_.cancelled->load(std::memory_order_relaxed); }

  Plan plan_;
  Opener opener_;
  Record record_;
  // A symlink is younger than the directory: the server does not keep the times of directories.
  bool has_younger_ = false;
  bool asked_to_unshare_ = false;
  bool unshared_ = false;
  // Holds what one read of a file brings.
  Bytes content_;
  // No gain was measured from larger ones.
  alignas(ListedEntry) char entries_[64 * 1024];
};
