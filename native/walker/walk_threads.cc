#include "walker/walk_threads.h"

#include "threads/locked.h"
#include "threads/thread.h"

int WalkThreads::Run(void (*task)(void*), void* argument) {
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

void WalkThreads::Main(void* argument) {
  auto* first = static_cast<First*>(argument);
  auto [threads, task] = *first;
  delete first;
  do task.run(task.argument);
  while (threads->Next(&task));
  threads->Release();
}

// Waits for it. False: there is none, and the thread is to end.
bool WalkThreads::Next(Task* task) {
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

void WalkThreads::Enter() {
  Locked locked(&lock_);
  walkers_++;
}

void WalkThreads::Leave() {
  Locked locked(&lock_);
  if (--walkers_ == 0) changed_.WakeAll();
}
