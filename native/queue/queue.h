#pragma once

#include <napi.h>

#include "base/unique_fd.h"
#include "queue/stream.h"

// The class that JavaScript sees (NativeQueue in src/addon.ts): inotify's system calls, and a Stream for its
// events.
class Queue : public Napi::ObjectWrap<Queue> {
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
  Napi::Value Reserved(const Napi::CallbackInfo& info);
  void Pause(const Napi::CallbackInfo& info);
  void Resume(const Napi::CallbackInfo& info);
  void Ref(const Napi::CallbackInfo& info);
  void Unref(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);

  int AddMark();
  int Reserve();
  void CloseStream();

  // Null while there is none open. It outlives Close(), and so is not owned; when the environment ends first,
  // its own cleanup hook closes it and no method of this class is called any more.
  Stream* stream_ = nullptr;
  UniqueFd barrier_;
  // A watch to give up when there is no other left for a mark; 0: none.
  UniqueFd reserve_;
  int reserve_wd_ = 0;
};
