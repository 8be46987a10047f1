#pragma once

#include <napi.h>
#include <uv.h>

#include "loop/callback.h"
#include "loop/loop_handle.h"
#include "loop/loop_object.h"
#include "queue/event_queue.h"
#include "queue/packing.h"
#include "queue/queue_drainer.h"

// Carries an EventQueue's events to JavaScript on the loop of its own environment, one call a batch.
//
// Waking up costs more than reading: a busy writer makes 280k events/s, and a loop that reads at every wakeup
// handles four of them at a time. So the first event is delivered at once; when another follows within a
// window, the fd is no longer polled but drained by a timer, a window apart, until one has brought less than
// two.
class Stream : public LoopHandle {
 public:
  struct Options {
    uint64_t window_ms;
    size_t arena_bytes;
    bool persistent;
  };

  Stream(Napi::Env env, const Options& options, Napi::Function on_event, Napi::Function on_batch,
         Napi::Function on_error);

  // 0 or -errno. After a failure Close() is still to be called. Delivers nothing before Resume().
  int Open();

  void Pause();
  void Resume();

  int fd() const { return queue_.fd(); }

  // See EventQueue::Mark.
  int Mark();

 private:
  ~Stream() override = default;

  static void OnReadable(uv_poll_t* handle, int status, int events);
  static void OnWindow(uv_timer_t* handle);
  static void OnWake(uv_async_t* handle);

  void End() override;
  size_t Deliver();
  void CallEvent(const LoneEvent& event);
  void CallBatch();
  void CallError(int error);
  void Poll();
  void Fail(int error);

  Options options_;
  Callback on_event_;
  Callback on_batch_;
  Callback on_error_;

  EventQueue queue_;
  QueueDrainer guard_;

  uv_poll_t poll_;
  uv_timer_t timer_;
  // Also what keeps the loop alive, the other two being idle in turn: so it is adopted first.
  uv_async_t wake_;

  bool flowing_ = false;
  // The turn of the loop ended before the records did.
  bool more_ = false;
  uint64_t last_delivery_ns_ = 0;

  // Filled and emptied within one delivery; members because together they are 256 KiB, much for a worker's
  // stack.
  EventQueue::Records records_;
  PackedBatch batch_;
};

// The class that JavaScript sees (NativeQueue in src/addon.ts): inotify's system calls, and a Stream for its
// events.
class Queue : public LoopObject<Queue, Stream> {
 public:
  static Napi::Function Define(Napi::Env env);
  explicit Queue(const Napi::CallbackInfo& info);

  // The inotify fd of a Queue that is open: -EBADF if it is not, -EINVAL if it is no Queue at all.
  static int FdOf(const Napi::Value& value);

 private:
  int fd() const;

  Napi::Value Open(const Napi::CallbackInfo& info);
  Napi::Value Add(const Napi::CallbackInfo& info);
  Napi::Value Remove(const Napi::CallbackInfo& info);
  Napi::Value Barrier(const Napi::CallbackInfo& info);
  Napi::Value Fd(const Napi::CallbackInfo& info);
  void Pause(const Napi::CallbackInfo& info);
  void Resume(const Napi::CallbackInfo& info);
};
