#pragma once

#include <napi.h>
#include <uv.h>

#include "base/unique_fd.h"
#include "loop/callback.h"
#include "loop/loop_handle.h"

// Calls JavaScript when a descriptor has news, on the loop of its own environment. Sleeps in the loop's own
// epoll, woken by nothing else.
class FdPoll : public LoopHandle {
 public:
  // Waits for these events of libuv's from now on; 0: for none.
  int Await(int events) { return uv_poll_start(&poll_, events, OnEvent); }

 protected:
  FdPoll(Napi::Env env, Napi::Function on_event, const char* resource)
      : LoopHandle(env), on_event_(on_event, resource) {}
  ~FdPoll() override = default;

  // Takes over a descriptor; or -errno, which it returns. 0 or -errno.
  int Watch(int fd, int events) {
    fd_.reset(fd);
    uv_loop_t* loop;
    int error = fd < 0 ? fd : Attach(&loop);
    if (error == 0) error = uv_poll_init(loop, &poll_, fd);
    if (error < 0) return error;
    Adopt(&poll_);
    return Await(events);
  }

  int fd() const { return fd_.get(); }

 private:
  // A failure is a reason to look as well.
  static void OnEvent(uv_poll_t* handle, int status, int) {
    auto* self = OwnerOf<FdPoll>(handle);
    if (status < 0) uv_poll_stop(handle);
    Napi::HandleScope scope(self->env());
    self->on_event_.Call(0, nullptr);
  }

  void End() override {
    on_event_.Reset();
    CloseHandles();
    fd_.reset();
  }

  Callback on_event_;
  UniqueFd fd_;
  uv_poll_t poll_;
};
