#pragma once

#include <napi.h>

#include "walker/delivery.h"

// The class that JavaScript sees (NativeWalker in src/addon.ts): one walk at a time.
class Walker : public Napi::ObjectWrap<Walker> {
 public:
  static Napi::Function Define(Napi::Env env);
  explicit Walker(const Napi::CallbackInfo& info);
  ~Walker();

 private:
  Napi::Value Walk(const Napi::CallbackInfo& info);
  Napi::Value Finish(const Napi::CallbackInfo& info);
  void Cancel(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);
  Napi::Value Commit(const Napi::CallbackInfo& info);
  Napi::Value Took(const Napi::CallbackInfo& info);
  Napi::Value Forget(const Napi::CallbackInfo& info);

  int Start(const Napi::CallbackInfo& info);

  // Null while there is no walk. It frees itself.
  Delivery* walk_ = nullptr;
  DigestCache* memory_ = new DigestCache();
  WalkThreads* threads_;
  bool closed_ = false;
};
