#include "queue/queue.h"

#include <errno.h>
#include <sys/inotify.h>

#include "base/path.h"
#include "base/retry.h"

namespace {

// The tag that tells a Queue from any other object: random, as napi_type_tag_object asks.
constexpr napi_type_tag kQueueTag = {0x9c1f3be24d7a4e06, 0xb38e5d60f2a7c914};

int AddWatch(int fd, const char* path, uint32_t mask) {
  // A path walk on a network mount may be interrupted.
  return static_cast<int>(Retry([&] { return inotify_add_watch(fd, path, mask); }));
}

int RemoveWatch(int fd, int wd) {
  return inotify_rm_watch(fd, wd) < 0 ? -errno : 0;
}

}  // namespace

Napi::Function Queue::Define(Napi::Env env) {
  return DefineClass(env, "Queue",
                     {
                         InstanceMethod<&Queue::Open>("open"),
                         InstanceMethod<&Queue::Add>("add"),
                         InstanceMethod<&Queue::Remove>("remove"),
                         InstanceMethod<&Queue::Barrier>("barrier"),
                         InstanceMethod<&Queue::Fd>("fd"),
                         InstanceMethod<&Queue::Pause>("pause"),
                         InstanceMethod<&Queue::Resume>("resume"),
                         InstanceMethod("ref", &Queue::Ref),
                         InstanceMethod("unref", &Queue::Unref),
                         InstanceMethod("close", &Queue::Close),
                     });
}

Queue::Queue(const Napi::CallbackInfo& info) : LoopObject(info) {
  Value().TypeTag(&kQueueTag);
}

int Queue::FdOf(const Napi::Value& value) {
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&kQueueTag)) return -EINVAL;
  // None while a worker is being terminated: from whichever moment on, each of these calls fails.
  Queue* queue = Unwrap(value.As<Napi::Object>());
  return queue != nullptr && queue->handle_ != nullptr ? queue->handle_->fd() : -EBADF;
}

Napi::Value Queue::Open(const Napi::CallbackInfo& info) {
  auto options = info[0].As<Napi::Object>();
  auto* stream =
      new Stream(info.Env(),
                 {
                     static_cast<uint64_t>(options.Get("batchWindow").ToNumber().Int64Value()),
                     static_cast<size_t>(options.Get("arenaBytes").ToNumber().Int64Value()),
                     options.Get("persistent").ToBoolean(),
                 },
                 info[1].As<Napi::Function>(), info[2].As<Napi::Function>(), info[3].As<Napi::Function>());
  return Napi::Number::New(info.Env(), OpenHandle(stream));
}

Napi::Value Queue::Add(const Napi::CallbackInfo& info) {
  if (handle_ == nullptr) return Napi::Number::New(info.Env(), -EBADF);
  Path path(info[0]);
  int wd = path.error();
  if (wd == 0) wd = AddWatch(handle_->fd(), path.c_str(), info[1].As<Napi::Number>().Uint32Value());
  return Napi::Number::New(info.Env(), wd);
}

Napi::Value Queue::Remove(const Napi::CallbackInfo& info) {
  int error = -EBADF;
  if (handle_ != nullptr) error = RemoveWatch(handle_->fd(), info[0].As<Napi::Number>().Int32Value());
  return Napi::Number::New(info.Env(), error);
}

Napi::Value Queue::Barrier(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), handle_ == nullptr ? -EBADF : handle_->Mark());
}

Napi::Value Queue::Fd(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), handle_ == nullptr ? -EBADF : handle_->fd());
}

void Queue::Pause(const Napi::CallbackInfo&) {
  if (handle_ != nullptr) handle_->Pause();
}

void Queue::Resume(const Napi::CallbackInfo&) {
  if (handle_ != nullptr) handle_->Resume();
}
