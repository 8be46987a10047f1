#pragma once

#include <pthread.h>

#include <cstddef>

#include "threads/condition.h"
#include "threads/locked.h"
#include "threads/shared.h"
#include "threads/thread.h"

// The threads of the walks of all walkers of one environment. A thread that has nothing more to do waits a
// moment for the next walk: during a burst of events there are hundreds a second, and where hundreds of
// directories are watched there are as many walkers. To make a thread, its stack included, costs the loop
// more than all else that it does to begin a walk. No walk waits for another: a dead mount may hold a thread.
//
// Belongs to the environment, to the walkers, to their walks and to these threads: see Walk.
class WalkThreads : public Shared<WalkThreads> {
 public:
  // Has a thread call it, one that waits or another. 0 or -errno.
  int Run(void (*task)(void*), void* argument) {
    {
      Locked locked(&lock_);
      if (waiting_ > 0) {
        waiting_--;
        tasks_[task_count_++] = {task, argument};
        changed_.WakeOne();
        return 0;
      }
    }
    auto* first = new First{Share(), {task, argument}};
    int error = StartDetachedThread(Main, first);
    if (error == 0) return 0;
    Release();
    delete first;
    return error;
  }

  // For each walker, until its end. Threads wait only while there is a walker.
  void Enter() {
    Locked locked(&lock_);
    walkers_++;
  }
  void Leave() {
    Locked locked(&lock_);
    if (--walkers_ == 0) changed_.WakeAll();
  }

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

  static void Main(void* argument) {
    auto* first = static_cast<First*>(argument);
    auto [threads, task] = *first;
    delete first;
    do task.run(task.argument);
    while (threads->Next(&task));
    threads->Release();
  }

  // Waits for it. False: there is none, and the thread is to end.
  bool Next(Task* task) {
    Locked locked(&lock_);
    if (walkers_ == 0 || waiting_ + task_count_ >= kMostWaiting) return false;
    waiting_++;
    changed_.WaitUntil(uv_hrtime() + kPatienceNs, &lock_, [&] { return task_count_ > 0 || walkers_ == 0; });
    // If there is a task, the giver has counted this thread out.
    if (task_count_ == 0) {
      waiting_--;
      return false;
    }
    *task = tasks_[--task_count_];
    return true;
  }

  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  Condition changed_;
  // All from here on under the lock.
  Task tasks_[kMostWaiting];
  size_t task_count_ = 0;
  // The number of waiting threads that have no task to wake up for.
  size_t waiting_ = 0;
  size_t walkers_ = 0;
};
