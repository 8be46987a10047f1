#pragma once

#include <napi.h>
#include <uv.h>

#include <cstddef>

// The owner of handles on the loop of its own environment. Lives until libuv has closed them, which may be
// after the JavaScript object is gone, or after the environment began to end: hence the async cleanup hook,
// without which a worker that is terminated with a live handle aborts the process.
class LoopHandle {
 public:
  LoopHandle(const LoopHandle&) = delete;
  LoopHandle& operator=(const LoopHandle&) = delete;

  // Ends at once what this object does, then frees it when libuv lets go. Nothing may be called after it.
  void Close();

  // Sets if an open handle keeps the loop alive.
  void SetPersistent(bool persistent) { persistent ? uv_ref(handles_[0]) : uv_unref(handles_[0]); }

 protected:
  explicit LoopHandle(Napi::Env env) : env_(env) {}
  virtual ~LoopHandle() = default;

  // Before anything else. The environment's own loop: uv_default_loop() is another thread's in a worker. 0 or
  // -errno; it must be closed in any case.
  int Attach(uv_loop_t** loop);

  // One that libuv has initialised. Of several the first keeps the loop alive.
  template <typename Handle>
  void Adopt(Handle* handle) {
    handle->data = this;
    handles_[open_handles_] = reinterpret_cast<uv_handle_t*>(handle);
    if (open_handles_++ > 0) uv_unref(reinterpret_cast<uv_handle_t*>(handle));
  }

  // Returns the owner of a handle.
  template <typename Self, typename Handle>
  static Self* OwnerOf(Handle* handle) {
    return static_cast<Self*>(static_cast<LoopHandle*>(handle->data));
  }

  // Once, by Close(): stops whoever may use the handles, closes them, and then what they need.
  virtual void End() = 0;
  void CloseHandles();

  Napi::Env env() const { return env_; }
  bool is_closing() const { return closing_; }

 private:
  static constexpr size_t kMostHandles = 3;

  static void OnClosed(uv_handle_t* handle);
  static void OnEnvironmentEnd(napi_async_cleanup_hook_handle hook, void* self);

  void FreeIfClosed();

  Napi::Env env_;
  napi_async_cleanup_hook_handle hook_ = nullptr;
  uv_handle_t* handles_[kMostHandles];
  size_t open_handles_ = 0;
  bool closing_ = false;
};
