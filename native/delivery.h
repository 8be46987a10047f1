#pragma once

#include <napi.h>
#include <uv.h>

#include "callback.h"
#include "walk.h"

// The loop's side of one walk: hands its records to JavaScript on the loop of its own environment, and keeps
// that loop alive until the last of them.
//
// Lives until libuv has closed its handle, which may be after the environment began to end (see Stream).
class Delivery {
 public:
  // Told once that the walk is over or this object closed, before the last call of the callback.
  using OnOver = void (*)(void*);

  Delivery(Napi::Env env, Napi::Function on_records, OnOver on_over, void* argument);

  // 0 or -errno. After a failure Close() is still to be called.
  int Start(const uint8_t* requests, size_t bytes, int queue, uint32_t mask, Memory* memory,
            const Walk::Repeat& repeat, bool persistent);

  void Cancel() { walk_->Cancel(); }

  // Delivers no more, then frees this object when libuv lets go. Nothing may be called after it.
  void Close();

  // The argument of OnOver is gone.
  void Disown() { on_over_ = nullptr; }

 private:
  ~Delivery() = default;

  static void OnWake(uv_async_t* handle);
  static void OnClosed(uv_handle_t* handle);
  static void OnEnvironmentEnd(napi_async_cleanup_hook_handle hook, void* self);

  void Deliver();
  void Call(Block* block, bool over);
  void Free();

  Napi::Env env_;
  Callback on_records_;
  OnOver on_over_;
  void* argument_;
  napi_async_cleanup_hook_handle hook_ = nullptr;
  uv_async_t wake_;
  // Null once abandoned.
  Walk* walk_;
  bool closing_ = false;
};
