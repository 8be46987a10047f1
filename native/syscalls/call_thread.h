#pragma once

#include <pthread.h>
#include <uv.h>

#include <vector>

#include "base/fifo.h"
#include "syscalls/call.h"
#include "threads/condition.h"
#include "threads/shared.h"

// A thread that makes system calls, one after another: those on one mount wait for one another, as they would
// in the kernel, and for nothing else. One that a dead mount holds, beyond the reach of SIGKILL even, is left
// behind.
//
// Belongs to the thread and to the loop together, and goes with the last of them.
class CallThread : public Shared<CallThread> {
 public:
  // With the reference of the loop, which is to be released by Abandon. `wake` is sent when there is
  // something to be taken.
  explicit CallThread(uv_async_t* wake) : wake_(wake) {}

  // 0 or -errno. The call is this object's from now on if it is 0.
  int Push(Call* call);

  // The calls that are done, oldest first; they are the caller's. Null: none.
  Call* Take();

  // The loop wants no more: what has not begun is dropped, what is open closed.
  void Abandon();

 private:
  friend Shared<CallThread>;
  ~CallThread();

  static void Main(void* self);
  void Run();
  Call* Next();
  void Do(Call* call);
  int Close(int fd);
  void Done(Call* call);
  void AwaitChange(Call* call);
  bool PauseUntil(uint64_t moment);

  // The thread's own: the descriptors that calls have opened and none has closed. Whoever asked for them may
  // be gone, with its environment, when they are closed.
  std::vector<int> open_;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  Condition changed_;
  // All from here on under the lock.
  uv_async_t* wake_;
  Fifo<Call> waiting_;
  Fifo<Call> done_;
  bool started_ = false;
  bool abandoned_ = false;
};
