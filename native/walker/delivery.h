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
  // Told once that the walk is over or this object closed, before the last call of the callback.
  using OnOver = void (*)(void*);

  Delivery(Napi::Env env, Napi::Function on_records, OnOver on_over, void* argument);

  // 0 or -errno. After a failure Close() is still to be called.
  int Start(const uint8_t* requests, size_t bytes, int queue, uint32_t mask, DigestCache* memory,
            WalkThreads* threads, const Walk::Repeat& repeat);

  void Cancel() { walk_->Cancel(); }

  // Waits for the end of the walk, but no longer than so many ms, and makes the calls of the callback that
  // come until then.
  void Finish(double patience);

  // The argument of OnOver is gone.
  void Disown() { on_over_ = nullptr; }

 private:
  ~Delivery() override = default;

  static void OnWake(uv_async_t* handle);

  void End() override;
  void Deliver();
  void Call(Block* block, bool over);

  Callback on_records_;
  OnOver on_over_;
  void* argument_;
  uv_async_t wake_;
  // Null once abandoned.
  Walk* walk_ = nullptr;
};
