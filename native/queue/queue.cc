#include "queue/queue.h"

#include <errno.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd_path.h"
#include "base/path.h"

namespace {

// What tells a Queue from any other object: random, as napi_type_tag_object asks.
constexpr napi_type_tag kQueueTag = {0x9c1f3be24d7a4e06, 0xb38e5d60f2a7c914};

int AddWatch(int fd, const char* path, uint32_t mask) {
  int wd;
  do {
    wd = inotify_add_watch(fd, path, mask);  // EINTR: a path walk on a network mount may be interrupted
  } while (wd < 0 && errno == EINTR);
  return wd < 0 ? -errno : wd;
}

int RemoveWatch(int fd, int wd) {
  return inotify_rm_watch(fd, wd) < 0 ? -errno : 0;
}

int MemoryFile() {
  return static_cast<int>(syscall(SYS_memfd_create, "inotify-bridge", 1U /* MFD_CLOEXEC */));
}

int WatchMemoryFile(int fd, int file) {
  return AddWatch(fd, PathOf(file).c_str(), IN_ATTRIB);
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
                         InstanceMethod<&Queue::Reserved>("reserved"),
                         InstanceMethod<&Queue::Pause>("pause"),
                         InstanceMethod<&Queue::Resume>("resume"),
                         InstanceMethod<&Queue::Ref>("ref"),
                         InstanceMethod<&Queue::Unref>("unref"),
                         InstanceMethod<&Queue::Close>("close"),
                     });
}

Queue::Queue(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Queue>(info) {
  Value().TypeTag(&kQueueTag);
}

int Queue::FdOf(const Napi::Value& value) {
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&kQueueTag)) return -EINVAL;
  Stream* stream = Unwrap(value.As<Napi::Object>())->stream_;
  return stream != nullptr ? stream->fd() : -EBADF;
}

Napi::Value Queue::Open(const Napi::CallbackInfo& info) {
  auto options = info[0].As<Napi::Object>();
  stream_ = new Stream(info.Env(),
                       {
                           static_cast<uint64_t>(options.Get("batchWindow").ToNumber().Int64Value()),
                           static_cast<size_t>(options.Get("arenaBytes").ToNumber().Int64Value()),
                           options.Get("persistent").ToBoolean(),
                       },
                       info[1].As<Napi::Function>(), info[2].As<Napi::Function>());
  // Not to be collected while open: a watcher is alive until it is closed, whoever still holds it.
  ObjectWrap::Ref();
  int error = stream_->Open();
  if (error < 0) CloseStream();
  return Napi::Number::New(info.Env(), error);
}

Napi::Value Queue::Add(const Napi::CallbackInfo& info) {
  if (stream_ == nullptr) return Napi::Number::New(info.Env(), -EBADF);
  Path path(info[0]);
  int wd = path.error();
  if (wd == 0) wd = AddWatch(stream_->fd(), path.c_str(), info[1].As<Napi::Number>().Uint32Value());
  return Napi::Number::New(info.Env(), wd);
}

Napi::Value Queue::Remove(const Napi::CallbackInfo& info) {
  int error = -EBADF;
  if (stream_ != nullptr) error = RemoveWatch(stream_->fd(), info[0].As<Napi::Number>().Int32Value());
  return Napi::Number::New(info.Env(), error);
}

Napi::Value Queue::Barrier(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), stream_ == nullptr ? -EBADF : AddMark());
}

Napi::Value Queue::Fd(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), stream_ == nullptr ? -EBADF : stream_->fd());
}

Napi::Value Queue::Reserved(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), reserve_wd_);
}

int Queue::AddMark() {
  if (!barrier_.is_open()) {
    barrier_.reset(MemoryFile());
    if (!barrier_.is_open()) return -errno;
  }
  int wd = WatchMemoryFile(stream_->fd(), barrier_.get());
  if (wd == -ENOSPC && reserve_wd_ > 0) {
    RemoveWatch(stream_->fd(), reserve_wd_);
    reserve_wd_ = 0;
    wd = WatchMemoryFile(stream_->fd(), barrier_.get());
  }
  if (wd < 0) return wd;
  int error = RemoveWatch(stream_->fd(), wd);
  if (error < 0) return error;
  // For the next: all watches may be used up by then.
  if (reserve_wd_ == 0) reserve_wd_ = Reserve();
  return wd;
}

int Queue::Reserve() {
  if (!reserve_.is_open()) reserve_.reset(MemoryFile());
  int wd = reserve_.is_open() ? WatchMemoryFile(stream_->fd(), reserve_.get()) : 0;
  return wd > 0 ? wd : 0;
}

void Queue::Pause(const Napi::CallbackInfo&) {
  if (stream_ != nullptr) stream_->Pause();
}

void Queue::Resume(const Napi::CallbackInfo&) {
  if (stream_ != nullptr) stream_->Resume();
}

void Queue::Ref(const Napi::CallbackInfo&) {
  if (stream_ != nullptr) stream_->SetPersistent(true);
}

void Queue::Unref(const Napi::CallbackInfo&) {
  if (stream_ != nullptr) stream_->SetPersistent(false);
}

void Queue::Close(const Napi::CallbackInfo&) {
  if (stream_ != nullptr) CloseStream();
}

void Queue::CloseStream() {
  stream_->Close();
  stream_ = nullptr;
  barrier_.reset();
  reserve_.reset();
  reserve_wd_ = 0;
  ObjectWrap::Unref();
}
