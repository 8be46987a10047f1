#include "loop/mount_table.h"

#include <errno.h>
#include <fcntl.h>

#include "base/statx.h"

MountPoll::MountPoll(Napi::Env env, Napi::Function on_change)
    : LoopHandle(env), on_change_(on_change, "MountTable") {}

int MountPoll::Open() {
  uv_loop_t* loop;
  int error = Attach(&loop);
  if (error < 0) return error;
  fd_.reset(OpenAt(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY));
  if (!fd_.is_open()) return fd_.get();
  error = uv_poll_init(loop, &poll_, fd_.get());
  if (error < 0) return error;
  Adopt(&poll_);
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
  auto* self = OwnerOf<MountPoll>(handle);
  if (status < 0) uv_poll_stop(handle);
  Napi::HandleScope scope(self->env());
  self->on_change_.Call(0, nullptr);
}

void MountPoll::End() {
  CloseHandles();
  fd_.reset();
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
