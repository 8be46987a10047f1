#pragma once

#include <napi.h>
#include <uv.h>

#include "base/unique_fd.h"
#include "loop/callback.h"
#include "loop/loop_handle.h"
#include "loop/loop_object.h"

// Waits for changes of the mount table on the loop of its own environment: proc_pid_mounts(5). Sleeps in the
// loop's own epoll, woken by nothing else.
class MountPoll : public LoopHandle {
 public:
  MountPoll(Napi::Env env, Napi::Function on_change);

  // 0 or -errno. After a failure Close() is still to be called.
  int Open();

  // Takes the news that OnEvent would have got at the loop's next poll.
  bool HasChanged() const;

 private:
  ~MountPoll() override = default;

  static void OnEvent(uv_poll_t* handle, int status, int events);

  void End() override;

  Callback on_change_;
  UniqueFd fd_;
  uv_poll_t poll_;
};

// The class that JavaScript sees (NativeMountTable in src/addon.ts).
class MountTable : public LoopObject<MountTable, MountPoll> {
 public:
  static Napi::Function Define(Napi::Env env);
  explicit MountTable(const Napi::CallbackInfo& info) : LoopObject(info) {}

 private:
  Napi::Value HasChanged(const Napi::CallbackInfo& info);
};
