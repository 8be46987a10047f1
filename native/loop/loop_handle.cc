#include "loop/loop_handle.h"

#include <errno.h>

int LoopHandle::Attach(uv_loop_t** loop) {
  if (napi_add_async_cleanup_hook(env_, OnEnvironmentEnd, this, &hook_) != napi_ok) return -ENOTSUP;
  return napi_get_uv_event_loop(env_, loop) == napi_ok ? 0 : -ENOTSUP;
}

void LoopHandle::Close() {
  if (closing_) return;
  closing_ = true;
  End();
  FreeIfClosed();
}

void LoopHandle::CloseHandles() {
  for (size_t i = 0; i < open_handles_; i++) uv_close(handles_[i], OnClosed);
}

void LoopHandle::OnClosed(uv_handle_t* handle) {
  auto* self = static_cast<LoopHandle*>(handle->data);
  self->open_handles_--;
  self->FreeIfClosed();
}

void LoopHandle::FreeIfClosed() {
  if (open_handles_ > 0) return;
  // The hook last: it is what keeps the environment, which the members'
  // destructors need.
  napi_async_cleanup_hook_handle hook = hook_;
  delete this;
  if (hook != nullptr) napi_remove_async_cleanup_hook(hook);
}

void LoopHandle::OnEnvironmentEnd(napi_async_cleanup_hook_handle, void* self) {
  static_cast<LoopHandle*>(self)->Close();
}
