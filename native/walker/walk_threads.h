#pragma once

#include <pthread.h>
#include <uv.h>

#include <atomic>
#include <cstddef>

// The threads of a walker's walks. One that has nothing more to do waits a moment for the next walk: during a
// burst of events there are hundreds a second, and to make a thread, its stack included, costs the loop more
// than all else that it does to begin one.
//
// Belongs to the walker, to its walks and to these threads: see Walk.
class WalkThreads {
 public:
  WalkThreads() {
    pthread_mutex_init(&lock_, nullptr);
    uv_cond_init(&changed_);
  }
  WalkThreads(const WalkThreads&) = delete;
  WalkThreads& operator=(const WalkThreads&) = delete;

  WalkThreads* Share() {
    references_.fetch_add(1);
    return this;
  }
  void Drop() {
    if (references_.fetch_sub(1) == 1) delete this;
  }

  // Has a thread call it, one that waits or another. 0 or -errno.
  int Run(void (*task)(void*), void* argument);

  // Those that wait end, and nobody waits from now on.
  void Close();

 private:
  struct Task {
    void (*run)(void*);
    void* argument;
  };
  struct First {
    WalkThreads* threads;
    Task task;
  };

  // As many as a walk has.
  static constexpr size_t kMostWaiting = 2;
  static constexpr uint64_t kPatienceNs = 1000000000;

  ~WalkThreads();
  static void Main(void* first);
  bool Next(Task* task);

  std::atomic<int> references_{1};
  pthread_mutex_t lock_;
  uv_cond_t changed_;
  // All from here on under the lock.
  Task tasks_[kMostWaiting];
  size_t task_count_ = 0;
  // The number of waiting threads that have no task to wake up for.
  size_t waiting_ = 0;
  bool closed_ = false;
};
