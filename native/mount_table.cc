#include "mount_table.h"

#include <errno.h>
#include <fcntl.h>

#include "facts.h"

MountPoll::MountPoll(Napi::Env env, Napi::Function on_change)
    : env_(env), on_change_(on_change, "MountTable") {
  poll_.data = nullptr;
}

int MountPoll::Open() {
  napi_add_async_cleanup_hook(env_, OnEnvironmentEnd, this, &hook_);
  fd_.reset(OpenAt(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY));
  if (!fd_.is_open()) return fd_.get();
  uv_loop_t* loop;
  napi_get_uv_event_loop(env_, &loop);
  int error = uv_poll_init(loop, &poll_, fd_.get());
  if (error < 0) return error;
  poll_.data = this;
  // Not UV_READABLE: it always is.
  return uv_poll_start(&poll_, UV_PRIORITIZED, OnEvent);
}

void MountPoll::SetPersistent(bool persistent) {
  auto* handle = reinterpret_cast<uv_handle_t*>(&poll_);
  persistent ? uv_ref(handle) : uv_unref(handle);
}

// The kernel compares the table with what it last told this very fd of, so there is nothing to be read to
// calm it. A failure is a reason to look at the table as well.
void MountPoll::OnEvent(uv_poll_t* handle, int status, int) {
  auto* self = static_cast<MountPoll*>(handle->data);
  if (status < 0) uv_poll_stop(handle);
  Napi::HandleScope scope(self->env_);
  self->on_change_.Call(0, nullptr);
}

void MountPoll::Close() {
  if (closing_) return;
  closing_ = true;
  if (poll_.data == nullptr) {
    Free();
    return;
  }
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_), OnClosed);
  fd_.reset();
}

void MountPoll::OnClosed(uv_handle_t* handle) {
  static_cast<MountPoll*>(handle->data)->Free();
}

void MountPoll::Free() {
  // The hook last: it is what keeps the environment, which the members' destructors need.
  napi_async_cleanup_hook_handle hook = hook_;
  delete this;
  napi_remove_async_cleanup_hook(hook);
}

void MountPoll::OnEnvironmentEnd(napi_async_cleanup_hook_handle, void* self) {
  static_cast<MountPoll*>(self)->Close();
}

Napi::Function MountTable::Define(Napi::Env env) {
  return DefineClass(env, "MountTable",
                     {
                         InstanceMethod<&MountTable::Open>("open"),
                         InstanceMethod<&MountTable::Ref>("ref"),
                         InstanceMethod<&MountTable::Unref>("unref"),
                         InstanceMethod<&MountTable::Close>("close"),
                     });
}

Napi::Value MountTable::Open(const Napi::CallbackInfo& info) {
  int error = -EINVAL;
  if (poll_ == nullptr && info[0].IsFunction()) {
    poll_ = new MountPoll(info.Env(), info[0].As<Napi::Function>());
    // Not to be collected while open.
    ObjectWrap::Ref();
    error = poll_->Open();
    if (error < 0) ClosePoll();
  }
  return Napi::Number::New(info.Env(), error);
}

void MountTable::Ref(const Napi::CallbackInfo&) {
  if (poll_ != nullptr) poll_->SetPersistent(true);
}

void MountTable::Unref(const Napi::CallbackInfo&) {
  if (poll_ != nullptr) poll_->SetPersistent(false);
}

void MountTable::Close(const Napi::CallbackInfo&) {
  if (poll_ != nullptr) ClosePoll();
}

void MountTable::ClosePoll() {
  poll_->Close();
  poll_ = nullptr;
  ObjectWrap::Unref();
}
