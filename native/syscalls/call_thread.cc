#include "syscalls/call_thread.h"

#include <errno.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/locked.h"
#include "base/thread.h"
#include "syscalls/stat_watch.h"
#include "syscalls/syscall_exec.h"

namespace {

constexpr uint64_t kMillisecond = 1000 * 1000;

void Drop(Call* list) {
  while (list != nullptr) {
    Call* next = list->next;
    delete list;
    list = next;
  }
}

}  // namespace

CallThread::CallThread(uv_async_t* wake) : wake_(wake) {
  // libuv's: a timed wait by the monotonic clock, without what glibc has only since 2.34.
  uv_mutex_init(&lock_);
  uv_cond_init(&changed_);
}

CallThread::~CallThread() {
  Drop(waiting_);
  Drop(done_);
  uv_cond_destroy(&changed_);
  uv_mutex_destroy(&lock_);
}

int CallThread::Push(Call* call) {
  Locked locked(&lock_);
  if (!started_) {
    references_.fetch_add(1);
    uv_thread_t thread;
    int error = StartThread(&thread, Main, this);
    if (error < 0) {
      references_.fetch_sub(1);
      return error;
    }
    // If it cannot be detached, the thread's stack stays until the process ends.
    DetachThread(thread);
    started_ = true;
  }
  *waiting_end_ = call;
  waiting_end_ = &call->next;
  uv_cond_signal(&changed_);
  return 0;
}

Call* CallThread::Take() {
  Locked locked(&lock_);
  Call* list = done_;
  done_ = nullptr;
  done_end_ = &done_;
  return list;
}

void CallThread::Abandon() {
  {
    Locked locked(&lock_);
    abandoned_ = true;
    wake_ = nullptr;
    uv_cond_signal(&changed_);
  }
  Release();
}

void CallThread::Main(void* self) {
  auto* thread = static_cast<CallThread*>(self);
  thread->Run();
  thread->Release();
}

void CallThread::Run() {
  while (Call* call = Next()) {
    Do(call);
    Done(call);
  }
}

void CallThread::Do(Call* call) {
  switch (call->kind) {
    case Call::Kind::kAwaitChange:
      return AwaitChange(call);
    case Call::Kind::kClose:
      call->result = descriptors_.Close(static_cast<int>(call->numbers[0]));
      return;
    default:
      Perform(call);
  }
  if (call->gives_descriptor() && call->result >= 0) descriptors_.Add(static_cast<int>(call->result));
}

// Waits for one. Null when nobody wants anything any more.
Call* CallThread::Next() {
  Locked locked(&lock_);
  for (;;) {
    Call* call = waiting_;
    if (call == nullptr) {
      if (abandoned_) return nullptr;
      uv_cond_wait(&changed_, &lock_);
      continue;
    }
    waiting_ = call->next;
    if (waiting_ == nullptr) waiting_end_ = &waiting_;
    call->next = nullptr;
    if (!abandoned_) return call;
    delete call;
  }
}

void CallThread::Done(Call* call) {
  Locked locked(&lock_);
  if (abandoned_ || call->id == 0) {
    delete call;
    return;
  }
  *done_end_ = call;
  done_end_ = &call->next;
  uv_async_send(wake_);
}

// Looks for as long as everything is as it was. First soon, since what has just changed often changes again,
// then twice as long after each look until it is the interval; and after a look that took long not sooner
// than it took.
void CallThread::AwaitChange(Call* call) {
  StatWatch watch(reinterpret_cast<const uint8_t*>(call->texts[0]), call->lengths[0]);
  uint64_t pause = static_cast<uint64_t>(call->numbers[0]) * kMillisecond;
  const uint64_t interval = static_cast<uint64_t>(call->numbers[1]) * kMillisecond;
  const uint64_t end = uv_hrtime() + static_cast<uint64_t>(call->numbers[2]) * kMillisecond;
  uint64_t longest = 0;
  call->result = watch.IsWellFormed() ? -ETIMEDOUT : -EINVAL;
  uint64_t began = uv_hrtime();
  uint64_t took = 0;
  while (call->result == -ETIMEDOUT && began < end) {
    // From the beginning of one look to that of the next.
    uint64_t next = began + (pause > 2 * took ? pause : 2 * took);
    uint64_t now = uv_hrtime();
    if (!Pause(next > now ? next - now : 0)) {
      call->result = -EINTR;
      break;
    }
    pause = 2 * pause < interval ? 2 * pause : interval;
    began = uv_hrtime();
    int64_t index = watch.Look();
    took = uv_hrtime() - began;
    if (took > longest) longest = took;
    if (index >= 0) call->result = index;
  }
  call->data.Append(&longest, sizeof longest);
}

// False if something else is wanted, or nothing any more.
bool CallThread::Pause(uint64_t nanoseconds) {
  Locked locked(&lock_);
  const uint64_t end = uv_hrtime() + nanoseconds;
  for (;;) {
    if (waiting_ != nullptr || abandoned_) return false;
    uint64_t now = uv_hrtime();
    if (now >= end) return true;
    uv_cond_timedwait(&changed_, &lock_, end - now);
  }
}

void CallThread::Release() {
  if (references_.fetch_sub(1) == 1) delete this;
}
