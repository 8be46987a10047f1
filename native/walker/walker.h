#pragma once

#include <napi.h>
#include <uv.h>

#include "loop/callback.h"
#include "loop/loop_handle.h"
#include "walker/walk.h"

// The loop's side of one walk: hands its records to JavaScript on the loop of its own environment, and keeps
// that loop alive until the last of them, if it is not repeated.
class Delivery : public LoopHandle {
 public:
  // `owner`: the owner's pointer to this object, which is set to null when the walk is over or this object
  // closed, before the last call of the callback.
  Delivery(Napi::Env env, Napi::Function on_records, Delivery** owner);

  // 0 or -errno. After a failure Close() is still to be called.
  int Start(const uint8_t* requests, size_t bytes, int queue, uint32_t mask, DigestCache* memory,
            WalkThreads* threads, const Walk::Repeat& repeat);

  void Cancel() { walk_->Cancel(); }

  // Waits for the end of the walk, but no longer than so many ms, and makes the calls of the callback that
  // come until then.
  void Finish(double patience);

  // The owner is gone.
  void Disown() { owner_ = nullptr; }

 private:
  ~Delivery() override = default;

  static void OnWake(uv_async_t* handle);

  void End() override;
  void Deliver();
  void Call(Block* block, bool over);

  Callback on_records_;
  Delivery** owner_;
  uv_async_t wake_;
  // Null once abandoned.
  Walk* walk_ = nullptr;
};

// The class that JavaScript sees (NativeWalker in src/addon.ts): one walk at a time.
class Walker : public Napi::ObjectWrap<Walker> {
 public:
  static Napi::Function Define(Napi::Env env);
  explicit Walker(const Napi::CallbackInfo& info);
  ~Walker();

 private:
  Napi::Value Walk(const Napi::CallbackInfo& info);
  Napi::Value Finish(const Napi::CallbackInfo& info);
  void Cancel(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);
  Napi::Value Commit(const Napi::CallbackInfo& info);
  Napi::Value Took(const Napi::CallbackInfo& info);
  Napi::Value Forget(const Napi::CallbackInfo& info);

  int Start(const Napi::CallbackInfo& info);

  // Null while there is no walk. It frees itself.
  Delivery* walk_ = nullptr;
  DigestCache* memory_ = new DigestCache();
  WalkThreads* threads_;
  bool closed_ = false;
};
