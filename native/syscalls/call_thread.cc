#include "syscalls/call_thread.h"

#include <errno.h>
#include <unistd.h>

#include "syscalls/stat_watch.h"
#include "threads/locked.h"
#include "threads/thread.h"

namespace {

constexpr uint64_t kMillisecond = 1000 * 1000;

void Drop(Fifo<Call>* calls) {
  while (Call* call = calls->Take()) delete call;
}

}  // namespace

CallThread::~CallThread() {
  Drop(&waiting_);
  Drop(&done_);
  for (int fd : open_) close(fd);
}

int CallThread::Push(Call* call) {
  Locked locked(&lock_);
  if (!started_) {
    int error = StartDetachedThread(Main, Share());
    if (error < 0) {
      Release();
      return error;
    }
    started_ = true;
  }
  waiting_.Push(call);
  changed_.WakeOne();
  return 0;
}

Call* CallThread::Take() {
  Locked locked(&lock_);
  return done_.TakeAll();
}

void CallThread::Abandon() {
  {
    Locked locked(&lock_);
    abandoned_ = true;
    wake_ = nullptr;
    changed_.WakeOne();
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
      call->result = Close(call->number(0));
      return;
    default:
      Perform(call);
  }
  if (call->gives_descriptor() && call->result >= 0) open_.push_back(static_cast<int>(call->result));
}

// 0 or -errno; -EBADF for a descriptor that no call has opened.
int CallThread::Close(int fd) {
  // Backwards: the last opened is the first closed, most often.
  for (size_t i = open_.size(); i-- > 0;) {
    if (open_[i] != fd) continue;
    open_[i] = open_.back();
    open_.pop_back();
    // close(2): never again on EINTR, the descriptor is free by then.
    return close(fd) < 0 && errno != EINTR ? -errno : 0;
  }
  return -EBADF;
}

// Waits for one. Null when nobody wants anything any more.
Call* CallThread::Next() {
  Locked locked(&lock_);
  while (waiting_.empty() && !abandoned_) changed_.Wait(&lock_);
  return abandoned_ ? nullptr : waiting_.Take();
}

void CallThread::Done(Call* call) {
  Locked locked(&lock_);
  if (abandoned_ || call->id == 0) {
    delete call;
    return;
  }
  done_.Push(call);
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
    if (!PauseUntil(began + (pause > 2 * took ? pause : 2 * took))) {
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
bool CallThread::PauseUntil(uint64_t moment) {
  Locked locked(&lock_);
  return !changed_.WaitUntil(moment, &lock_, [&] { return !waiting_.empty() || abandoned_; });
}
