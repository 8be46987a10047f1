#pragma once

#include <napi.h>

#include "loop/loop_object.h"
#include "queue/stream.h"

// The class that JavaScript sees (NativeQueue in src/addon.ts): inotify's system calls, and a Stream for its
// events.
class Queue : public LoopObject<Queue, Stream> {
 public:
  static Napi::Function Define(Napi::Env env);
  explicit Queue(const Napi::CallbackInfo& info);

  // The inotify fd of a Queue that is open: -EBADF if it is not, -EINVAL if it is no Queue at all.
  static int FdOf(const Napi::Value& value);

 private:
  Napi::Value Open(const Napi::CallbackInfo& info);
  Napi::Value Add(const Napi::CallbackInfo& info);
  Napi::Value Remove(const Napi::CallbackInfo& info);
  Napi::Value Barrier(const Napi::CallbackInfo& info);
  Napi::Value Fd(const Napi::CallbackInfo& info);
  void Pause(const Napi::CallbackInfo& info);
  void Resume(const Napi::CallbackInfo& info);
};
