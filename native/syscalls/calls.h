#pragma once

#include <napi.h>
#include <uv.h>

#include "loop/callback.h"
#include "loop/loop_handle.h"
#include "syscalls/call_thread.h"

// The loop's side of a CallThread: hands what is done to JavaScript on the loop of its own environment.
class CallDelivery : public LoopHandle {
 public:
  CallDelivery(Napi::Env env, Napi::Function on_done);

  // 0 or -errno. After a failure Close() is still to be called.
  int Open();
  int Push(Call* call) { return thread_->Push(call); }
  void SetPersistent(bool persistent);

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
class Calls : public Napi::ObjectWrap<Calls> {
 public:
  static Napi::Function Define(Napi::Env env);
  explicit Calls(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Calls>(info) {}

 private:
  Napi::Value Open(const Napi::CallbackInfo& info);
  Napi::Value Push(const Napi::CallbackInfo& info);
  void Ref(const Napi::CallbackInfo& info);
  void Unref(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);

  void CloseDelivery();

  // Null while it is not open. When the environment ends first, its own cleanup hook closes it and no method
  // of this class is called any more.
  CallDelivery* delivery_ = nullptr;
};
