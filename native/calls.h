#pragma once

#include <napi.h>
#include <uv.h>

#include "call_thread.h"
#include "callback.h"

// The loop's side of a CallThread: hands what is done to JavaScript on the loop of its own environment.
//
// Lives until libuv has closed its handle, which may be after the environment began to end (see Stream).
class CallDelivery {
 public:
  CallDelivery(Napi::Env env, Napi::Function on_done);

  // 0 or -errno. After a failure Close() is still to be called.
  int Open();
  int Push(Call* call) { return thread_->Push(call); }
  void SetPersistent(bool persistent);
  // Delivers no more, then frees this object when libuv lets go. Nothing may be called after it.
  void Close();

 private:
  ~CallDelivery() = default;

  static void OnWake(uv_async_t* handle);
  static void OnClosed(uv_handle_t* handle);
  static void OnEnvironmentEnd(napi_async_cleanup_hook_handle hook, void* self);

  void Deliver();
  void Tell(const Call& call);
  void Free();

  Napi::Env env_;
  Callback on_done_;
  napi_async_cleanup_hook_handle hook_ = nullptr;
  uv_async_t wake_;
  // Null before Open() and once abandoned.
  CallThread* thread_ = nullptr;
  bool closing_ = false;
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
