#include "fanotify/fanotify.h"

#include <algorithm>

#include "base/path.h"
#include "base/retry.h"

FanotifyPoll::FanotifyPoll(Napi::Env env, Napi::Function on_readable)
    : LoopHandle(env), on_readable_(on_readable, "Fanotify") {}

int FanotifyPoll::Open() {
  uv_loop_t* loop;
  int error = Attach(&loop);
  if (error < 0) return error;
  // FAN_REPORT_DIR_FID | FAN_REPORT_NAME (Linux 5.9), which older headers do not have.
  constexpr unsigned kNames = 0x400 | 0x800;
  constexpr unsigned kFlags = FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | kNames;
  fd_.reset(static_cast<int>(Retry([] { return fanotify_init(kFlags, O_RDONLY); })));
  if (!fd_.is_open()) return fd_.get();
  error = uv_poll_init(loop, &poll_, fd_.get());
  if (error < 0) return error;
  Adopt(&poll_);
  return uv_poll_start(&poll_, UV_READABLE, OnReadable);
}

int FanotifyPoll::Add(const char* path) {
  auto mount = std::make_unique<MarkedMount>(path);
  int error = mount->Mark(fd_.get());
  if (error < 0) return error;
  auto is_same = [&](auto& each) { return each->is_same(*mount); };
  mounts_.erase(std::remove_if(mounts_.begin(), mounts_.end(), is_same), mounts_.end());
  mounts_.push_back(std::move(mount));
  return 0;
}

// A failure is a reason to read as well, which says what is wrong.
void FanotifyPoll::OnReadable(uv_poll_t* handle, int status, int) {
  auto* self = OwnerOf<FanotifyPoll>(handle);
  if (status < 0) self->Flow(false);
  Napi::HandleScope scope(self->env());
  self->on_readable_.Call(0, nullptr);
}

Napi::Value FanotifyPoll::Read() {
  int64_t bytes = Retry([&] { return read(fd_.get(), records_, sizeof records_); });
  if (bytes < 0 && bytes != -EAGAIN) return Napi::Number::New(env(), static_cast<double>(bytes));
  auto events = Napi::Array::New(env());
  fanotify_event_metadata event;
  for (int64_t at = 0; at < bytes; at += event.event_len) {
    memcpy(&event, records_ + at, sizeof event);
    // Behind it are a type, padding and a length, struct fanotify_event_info_header of newer headers; then
    // the directory, and a name. An overflow has none of that, nor has what has no name any more.
    const char* info = records_ + at + sizeof event + 4;
    const char* end = records_ + at + event.event_len;
    const auto* directory = reinterpret_cast<const FanDirectory*>(info);
    bool has_path = false;
    for (size_t i = 0; info < end && i < mounts_.size(); i++) {
      const char* path = mounts_[i]->Find(*directory);
      const char* name = info + directory->size();
      if (path != nullptr) Push(events, event, path, name < end ? name : "");
      has_path = has_path || path != nullptr;
    }
    if (!has_path) Push(events, event, nullptr, "");
  }
  for (auto& mount : mounts_) mount->Release();
  return events;
}

void FanotifyPoll::Push(Napi::Array events, const fanotify_event_metadata& event, const char* directory,
                        const char* name) {
  Napi::HandleScope scope(env());
  auto object = Napi::Object::New(env());
  object.Set("mask", Napi::Number::New(env(), static_cast<double>(event.mask)));
  object.Set("pid", Napi::Number::New(env(), event.pid));
  if (directory != nullptr) {
    // The directory itself is '.' to the kernel.
    bool is_own = *name == '\0' || strcmp(name, ".") == 0;
    const char* slash = is_own || strcmp(directory, "/") == 0 ? "" : "/";
    int length = snprintf(path_, sizeof path_, "%s%s%s", directory, slash, is_own ? "" : name);
    napi_value path;
    if (napi_create_string_latin1(env(), path_, length, &path) == napi_ok) object.Set("path", path);
  }
  events.Set(events.Length(), object);
}

void FanotifyPoll::End() {
  on_readable_.Reset();
  CloseHandles();
  fd_.reset();
}

Napi::Function Fanotify::Define(Napi::Env env) {
  return DefineClass(env, "Fanotify",
                     {
                         InstanceMethod("open", &Fanotify::Open),
                         InstanceMethod<&Fanotify::Add>("add"),
                         InstanceMethod<&Fanotify::Read>("read"),
                         InstanceMethod<&Fanotify::Flow>("flow"),
                         InstanceMethod("unref", &Fanotify::Unref),
                         InstanceMethod("close", &Fanotify::Close),
                     });
}

Napi::Value Fanotify::Add(const Napi::CallbackInfo& info) {
  Path path(info[0]);
  int error = handle_ == nullptr ? -EBADF : path.error();
  return Napi::Number::New(info.Env(), error == 0 ? handle_->Add(path.c_str()) : error);
}

Napi::Value Fanotify::Read(const Napi::CallbackInfo& info) {
  return handle_ != nullptr ? handle_->Read() : Napi::Number::New(info.Env(), -EBADF);
}

void Fanotify::Flow(const Napi::CallbackInfo& info) {
  if (handle_ != nullptr) handle_->Flow(info[0].ToBoolean());
}
