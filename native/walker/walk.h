#pragma once

#include <pthread.h>
#include <uv.h>

#include <atomic>

#include "base/unique_fd.h"
#include "record/digest_cache.h"
#include "record/record_queue.h"
#include "scan/dir_reader.h"
#include "scan/requests.h"
#include "scan/walk_queue.h"
#include "threads/condition.h"
#include "threads/shared.h"
#include "walker/walk_threads.h"

// One walk, and its threads: two at the most. What they do is nearly all the kernel's work, much of it under
// locks that they share (the inotify instance's, the process's table of descriptors), and the programs that
// are watched are to have processors left.
//
// Belongs to its threads and to the loop together, and goes with the last of them: a thread that a dead mount
// holds in a system call, which not even SIGKILL ends, is waited for by nobody.
class Walk : public Shared<Walk> {
 public:
  // A walk that is made again and again until there is something to tell: the loop sleeps meanwhile.
  struct Repeat {
    // ms from the end of a pass to the next, doubled each time up to `most`; at least as long as a pass took.
    uint64_t first = 0;
    // 0: once. A pass that takes longer than this is the last.
    uint64_t most = 0;
  };

  // With the reference of the loop, which is to be released by Abandon. `wake` is sent when there is
  // something to be taken. `memory`: of the walks with kCompare. It and the threads are the caller's as well.
  Walk(uv_async_t* wake, DigestCache* memory, WalkThreads* threads)
      : threads_(threads->Share()), memory_(memory->Share()), wake_(wake) {}

  // Starts it: 0 or -errno. `queue` is an inotify fd, which may be closed meanwhile, or -1.
  int Start(const uint8_t* requests, size_t bytes, int queue, uint32_t mask, const Repeat& repeat);

  // Gives up between two system calls. What was found, and above all what is watched, is still to be taken.
  void Cancel();

  // Loop's thread: the next block of records, to be given back, or null. `over`: there will be no other.
  Block* Take(bool* over);
  void GiveBack(Block* block);

  // Loop's thread: waits until there is a block to be taken, or there will be no other; false: until the
  // moment, in ns of uv_hrtime().
  bool AwaitUntil(uint64_t moment);

  // The loop wants no more.
  void Abandon();

 private:
  friend Shared<Walk>;
  ~Walk();

  static constexpr int kMostThreads = 2;

  // The next action of a thread.
  enum class Turn { kVisit, kEnd, kLeave };

  static void Main(void* self);
  void Run();
  Turn HandIn(DirReader* visitor, Job* job, Node* found);
  Turn GoOn(Job* job, bool* help);
  void Append(Record* record, uint32_t id);
  uint32_t Tell(Record* record, const Job& job);
  void TellOf(Node* node);
  Turn NextTurn(Job* job);
  void Begin();
  bool Rest();
  void End();
  int StartOne();
  void Wake();

  Requests requests_;
  UniqueFd queue_;
  StatOnly* stat_only_ = nullptr;
  WalkThreads* threads_;
  DirReader::Plan plan_ = {};
  std::atomic<bool> cancelled_{false};

  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  // Work has come, or room for more output, or the end.
  Condition changed_;
  // The same for the loop, if it waits: whatever it took for itself of the other a thread would miss.
  Condition told_;
  // All from here on under the lock.
  WalkQueue walk_queue_;
  DigestCache* memory_;
  RecordQueue output_;
  uv_async_t* wake_;
  Repeat repeat_;
  uint64_t began_ = 0;
  bool has_told_ = false;
  uint32_t next_id_ = 0;
  int started_ = 0;
  // One for each thread that has begun.
  DirReader* visitors_[kMostThreads] = {};
  int visitor_count_ = 0;
  int busy_ = 0;
  int waiting_ = 0;
  bool over_ = false;
};
