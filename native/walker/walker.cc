#include "walker/walker.h"

#include <errno.h>

#include "queue/queue.h"

Napi::Function Walker::Define(Napi::Env env) {
  auto* threads = new WalkThreads();
  env.AddCleanupHook([](WalkThreads* all) { all->Drop(); }, threads);
  return DefineClass(env, "Walker",
                     {
                         InstanceMethod<&Walker::Walk>("walk"),
                         InstanceMethod<&Walker::Finish>("finish"),
                         InstanceMethod<&Walker::Cancel>("cancel"),
                         InstanceMethod<&Walker::Commit>("commit"),
                         InstanceMethod<&Walker::Forget>("forget"),
                         InstanceMethod<&Walker::Took>("took"),
                         InstanceMethod<&Walker::Close>("close"),
                     },
                     threads);
}

Walker::Walker(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<Walker>(info), threads_(static_cast<WalkThreads*>(info.Data())->Share()) {
  threads_->Enter();
}

Walker::~Walker() {
  if (walk_ != nullptr) walk_->Disown();
  memory_->Release();
  if (!closed_) threads_->Leave();
  threads_->Drop();
}

Napi::Value Walker::Walk(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), Start(info));
}

int Walker::Start(const Napi::CallbackInfo& info) {
  if (closed_) return -EBADF;
  if (walk_ != nullptr) return -EBUSY;
  int queue = info[0].IsNull() ? -1 : Queue::FdOf(info[0]);
  if (queue < 0 && !info[0].IsNull()) return queue;
  if (!info[1].IsNumber() || !info[2].IsBuffer() || !info[3].IsFunction()) return -EINVAL;
  auto requests = info[2].As<Napi::Buffer<uint8_t>>();
  walk_ = new Delivery(
      info.Env(), info[3].As<Napi::Function>(),
      [](void* self) { static_cast<Walker*>(self)->walk_ = nullptr; }, this);
  uint32_t mask = info[1].As<Napi::Number>().Uint32Value();
  ::Walk::Repeat repeat;
  if (info[4].IsNumber() && info[5].IsNumber()) {
    repeat.first = info[4].As<Napi::Number>().Uint32Value();
    repeat.most = info[5].As<Napi::Number>().Uint32Value();
  }
  int error = walk_->Start(requests.Data(), requests.Length(), queue, mask, memory_, threads_, repeat);
  if (error == 0) return 0;
  walk_->Close();
  return error;
}

Napi::Value Walker::Finish(const Napi::CallbackInfo& info) {
  double patience = info[0].IsNumber() ? info[0].As<Napi::Number>().DoubleValue() : 0;
  // Not so for what is no number, either.
  if (walk_ != nullptr && patience > 0) walk_->Finish(patience);
  return Napi::Boolean::New(info.Env(), walk_ == nullptr);
}

void Walker::Cancel(const Napi::CallbackInfo&) {
  if (walk_ != nullptr) walk_->Cancel();
}

// Not while a walk reads what is known. A thread that was left behind reads it after close(), when there is
// no more of this.
Napi::Value Walker::Commit(const Napi::CallbackInfo& info) {
  bool may = walk_ == nullptr && !closed_;
  if (may) memory_->Commit();
  return Napi::Number::New(info.Env(), may ? 0 : -EBUSY);
}

Napi::Value Walker::Forget(const Napi::CallbackInfo& info) {
  bool may = walk_ == nullptr && !closed_;
  if (may) memory_->Forget();
  return Napi::Number::New(info.Env(), may ? 0 : -EBUSY);
}

Napi::Value Walker::Took(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(memory_->took()) / 1e6);
}

void Walker::Close(const Napi::CallbackInfo&) {
  if (!closed_) threads_->Leave();
  closed_ = true;
  if (walk_ != nullptr) walk_->Close();
}
