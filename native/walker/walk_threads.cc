#include "walker/walk_threads.h"

#include "base/locked.h"
#include "base/thread.h"

int WalkThreads::Run(void (*task)(void*), void* argument) {
  {
    Locked locked(&lock_);
    if (waiting_ > 0) {
      waiting_--;
      tasks_[task_count_++] = {task, argument};
      uv_cond_signal(&changed_);
      return 0;
    }
  }
  auto* first = new First{Share(), {task, argument}};
  uv_thread_t thread;
  int error = StartThread(&thread, Main, first);
  if (error < 0) {
    Drop();
    delete first;
    return error;
  }
  // If it cannot be detached, the thread's stack stays until the process ends.
  DetachThread(thread);
  return 0;
}

void WalkThreads::Main(void* argument) {
  auto* first = static_cast<First*>(argument);
  auto [threads, task] = *first;
  delete first;
  do task.run(task.argument);
  while (threads->Next(&task));
  threads->Drop();
}

// Waits for it. False: there is none, and the thread is to end.
bool WalkThreads::Next(Task* task) {
  Locked locked(&lock_);
  if (walkers_ == 0 || waiting_ + task_count_ >= kMostWaiting) return false;
  waiting_++;
  uint64_t deadline = uv_hrtime() + kPatienceNs;
  for (uint64_t now = uv_hrtime(); task_count_ == 0; now = uv_hrtime()) {
    if (walkers_ == 0 || now >= deadline) {
      waiting_--;
      return false;
    }
    uv_cond_timedwait(&changed_, &lock_, deadline - now);
  }
  *task = tasks_[--task_count_];
  return true;
}

void WalkThreads::Enter() {
  Locked locked(&lock_);
  walkers_++;
}

void WalkThreads::Leave() {
  Locked locked(&lock_);
  if (--walkers_ == 0) uv_cond_broadcast(&changed_);
}

WalkThreads::~WalkThreads() {
  uv_cond_destroy(&changed_);
  pthread_mutex_destroy(&lock_);
}
