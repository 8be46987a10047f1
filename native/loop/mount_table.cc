#include "loop/mount_table.h"

#include <fcntl.h>
#include <poll.h>

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

// The kernel compares the table with what it last told this very fd of, so there is nothing to be read to
// calm it. A failure is a reason to look at the table as well.
void MountPoll::OnEvent(uv_poll_t* handle, int status, int) {
  auto* self = OwnerOf<MountPoll>(handle);
  if (status < 0) uv_poll_stop(handle);
  Napi::HandleScope scope(self->env());
  self->on_change_.Call(0, nullptr);
}

bool MountPoll::HasChanged() const {
  pollfd table = {fd_.get(), POLLPRI, 0};
  // An error counts as news: the table is read then.
  return poll(&table, 1, 0) != 0;
}

void MountPoll::End() {
  CloseHandles();
  fd_.reset();
}

Napi::Function MountTable::Define(Napi::Env env) {
  return DefineClass(env, "MountTable",
                     {
                         InstanceMethod("open", &MountTable::Open),
                         InstanceMethod<&MountTable::HasChanged>("hasChanged"),
                         InstanceMethod("ref", &MountTable::Ref),
                         InstanceMethod("unref", &MountTable::Unref),
                         InstanceMethod("close", &MountTable::Close),
                     });
}

Napi::Value MountTable::HasChanged(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), handle_ != nullptr && handle_->HasChanged());
}
