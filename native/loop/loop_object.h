#pragma once

#include <errno.h>
#include <napi.h>

// The common part of JavaScript's classes that each have a LoopHandle while they are open.
template <typename Class, typename Handle>
class LoopObject : public Napi::ObjectWrap<Class> {
 protected:
  explicit LoopObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Class>(info) {}

  // Opens a handle that is made of a callback alone. 0 or -errno.
  Napi::Value Open(const Napi::CallbackInfo& info) {
    bool may = handle_ == nullptr && info[0].IsFunction();
    int error = may ? OpenHandle(new Handle(info.Env(), info[0].As<Napi::Function>())) : -EINVAL;
    return Napi::Number::New(info.Env(), error);
  }

  void Ref(const Napi::CallbackInfo&) {
    if (handle_ != nullptr) handle_->SetPersistent(true);
  }
  void Unref(const Napi::CallbackInfo&) {
    if (handle_ != nullptr) handle_->SetPersistent(false);
  }
  void Close(const Napi::CallbackInfo&) {
    if (handle_ != nullptr) CloseHandle();
  }

  // Opens it, or closes it again. 0 or -errno.
  int OpenHandle(Handle* handle) {
    handle_ = handle;
    // Not to be collected while open, whoever still holds it.
    Napi::ObjectWrap<Class>::Ref();
    int error = handle_->Open();
    if (error < 0) CloseHandle();
    return error;
  }

  // Null while it is not open. The handle outlives Close(), and so is not owned. When the environment ends
  // first, its own cleanup hook closes it and no method of this class is called any more.
  Handle* handle_ = nullptr;

 private:
  void CloseHandle() {
    handle_->Close();
    handle_ = nullptr;
    Napi::ObjectWrap<Class>::Unref();
  }
};
