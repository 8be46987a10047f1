#pragma once

#include <uv.h>

#include <atomic>

#include "syscalls/call.h"
#include "syscalls/descriptors.h"

// A thread that makes system calls, one after another: those on one mount wait for one another, as they would
// in the kernel, and for nothing else. One that a dead mount holds, beyond the reach of SIGKILL even, is left
// behind.
//
// Belongs to the thread and to the loop together, and goes with the last of them.
class CallThread {
 public:
  // With the reference of the loop, which is to be released by Abandon. `wake` is sent when there is
  // something to be taken.
  explicit CallThread(uv_async_t* wake);
  CallThread(const CallThread&) = delete;
  CallThread& operator=(const CallThread&) = delete;

  // 0 or -errno. The call is this object's from now on if it is 0.
  int Push(Call* call);

  // The calls that are done, oldest first; they are the caller's. Null: none.
  Call* Take();

  // The loop wants no more: what has not begun is dropped, what is open closed.
  void Abandon();

 private:
  ~CallThread();

  static void Main(void* self);
  void Run();
  Call* Next();
  void Do(Call* call);
  void Done(Call* call);
  void AwaitChange(Call* call);
  bool Pause(uint64_t nanoseconds);
  void Release();

  // The thread's own: what calls have opened and none has closed.
  Descriptors descriptors_;
  std::atomic<int> references_{1};
  uv_mutex_t lock_;
  uv_cond_t changed_;
  // All from here on under the lock.
  uv_async_t* wake_;
  Call* waiting_ = nullptr;
  Call** waiting_end_ = &waiting_;
  Call* done_ = nullptr;
  Call** done_end_ = &done_;
  bool started_ = false;
  bool abandoned_ = false;
};
