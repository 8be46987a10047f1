#pragma once

#include <napi.h>
#include <uv.h>

#include "loop/callback.h"
#include "loop/loop_handle.h"
#include "loop/loop_object.h"
#include "syscalls/call_thread.h"

// The loop's side of a CallThread: hands what is done to JavaScript on the loop of its own environment.
class CallDelivery : public LoopHandle {
 public:
  CallDelivery(Napi::Env env, Napi::Function on_done);

  // 0 or -errno. After a failure Close() is still to be called.
  int Open();
  int Push(Call* call) { return thread_->Push(call); }

 private:
  ~CallDelivery() override = default;

  static void OnWake(uv_async_t* handle);

  void End() override;
  void Deliver();
  void Tell(const Call& call);

  Callback on_done_;
  uv_async_t wake_;
  // Null before Open() and once abandoned.
  CallThread* thread_ = nullptr;
};

// The class that JavaScript sees (NativeCalls in src/addon.ts).
class Calls : public LoopObject<Calls, CallDelivery> {
 public:
  static Napi::Function Define(Napi::Env env);
  explicit Calls(const Napi::CallbackInfo& info) : LoopObject(info) {}

 private:
  Napi::Value Push(const Napi::CallbackInfo& info);
};
